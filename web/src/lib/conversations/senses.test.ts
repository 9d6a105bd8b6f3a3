import { expect, test } from 'vitest';
import type { FileRef } from '../types/conversation.ts';
import { isMedia, sensesLacking } from './senses.ts';

const file = (patch: Partial<FileRef>): FileRef => ({ sha256: 's', name: 'f', kind: 'text', type: 'text/plain', bytes: 1, ...patch });
const blind = { images: false, audio: false };

test('files ask for senses', () => {
  expect(sensesLacking(blind, [file({}), file({ kind: 'pdf', text: 'words' })])).toEqual([]);
  expect(sensesLacking(blind, [file({ kind: 'audio' }), file({ kind: 'image' })])).toEqual(['images', 'audio']);
  expect(sensesLacking({ images: true, audio: false }, [file({ kind: 'image' }), file({ kind: 'audio' })])).toEqual(['audio']);
});

test('a PDF is seen where its pages are images', () => {
  expect(sensesLacking(blind, [file({ kind: 'pdf', pages: ['p'] })])).toEqual(['images']);
  expect(isMedia(file({ kind: 'pdf', pages: [] }))).toBe(false);
});
