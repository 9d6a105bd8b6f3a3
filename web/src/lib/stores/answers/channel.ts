// What tabs tell each other of answers.
import type { Id } from '../../types/conversation.ts';

// began: this tab writes it now. stop: whoever writes it shall stop.
export interface AnswerNews {
  type: 'began' | 'stop';
  messageId: Id;
  convId: Id;
}

export interface AnswerChannel {
  tell(news: AnswerNews): void;
  // Gives the function that ends it.
  hear(heard: (news: AnswerNews) => void): () => void;
}

export function openChannel(): AnswerChannel {
  const channel = new BroadcastChannel('puna-answers');
  return {
    tell: (news) => channel.postMessage(news),
    hear(heard) {
      const listener = (event: MessageEvent<AnswerNews>) => heard(event.data);
      channel.addEventListener('message', listener);
      return () => channel.removeEventListener('message', listener);
    },
  };
}
