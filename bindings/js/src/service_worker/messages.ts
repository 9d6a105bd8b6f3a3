// Between a page and the service worker.

export type ToServiceWorker =
  | { type: 'engine'; model: string } // with a port that answers calls chat, complete and embed
  | { type: 'gone' } // this page has no engine any more
  | { type: 'keep'; urls: string[] }; // with a port that is told null when it is done, or why it failed (ErrorData)

export type ToPage = { type: 'who' }; // which page has an engine?
