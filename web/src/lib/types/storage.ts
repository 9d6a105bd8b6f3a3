// What can be wrong with the browser's storage. The page works on in memory; the interface has the words for each.
export type StorageTrouble =
  // The browser gives none: a private window, or storage switched off.
  | 'refused'
  // No room left. What is new is kept in memory and saved when there is room.
  | 'full'
  // The data are those of a newer version of the page: they are left alone.
  | 'newer'
  // Opened, but reading or writing fails.
  | 'broken';

export interface Quota {
  usedBytes: number;
  // Null where the browser does not say.
  availableBytes: number | null;
  // The browser will not clear the data by itself.
  persisted: boolean;
}
