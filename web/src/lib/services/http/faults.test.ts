import { describe, expect, it } from 'vitest';
import { faultOf, streamFault } from './faults.ts';

describe('faultOf', () => {
  it('tells both numbers of a prompt that is too long', () => {
    const body = {
      error: {
        code: 400,
        message: 'The prompt has 9000 tokens.',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9000,
        n_ctx: 4096,
      },
    };
    expect(faultOf(400, body)).toEqual({
      kind: 'context',
      message: 'The prompt has 9000 tokens.',
      promptTokens: 9000,
      contextTokens: 4096,
    });
    expect(streamFault(body).kind).toBe('context');
  });

  it.each([
    [401, 'authentication_error', 'key'],
    [403, 'authentication_error', 'key'],
    [403, 'permission_error', 'refused'],
    [404, 'not_found_error', 'model'],
    [400, 'invalid_request_error', 'refused'],
    [415, 'invalid_request_error', 'refused'],
    [501, 'not_supported_error', 'refused'],
    [429, 'rate_limit_error', 'busy'],
    [503, 'unavailable_error', 'busy'],
    [502, '', 'network'],
    [504, '', 'network'],
    [500, 'server_error', 'engine'],
    [302, '', 'engine'],
  ])('takes %i %s for %s', (status, type, kind) => {
    expect(faultOf(status, { error: { message: 'm', type } })).toEqual({ kind, message: 'm' });
  });

  it("reads Ollama's shape, and bodies that say nothing", () => {
    expect(faultOf(404, { error: 'no such model' })).toEqual({ kind: 'model', message: 'no such model' });
    for (const body of [undefined, null, 'text', {}, { error: null }, { error: { message: 7, n_ctx: 'x' } }, []]) {
      expect(faultOf(500, body)).toEqual({ kind: 'engine', message: 'The server answered with status 500.' });
    }
  });

  it('takes the status of an error in a stream from its code', () => {
    expect(streamFault({ error: { code: 503, message: 'full' } }).kind).toBe('busy');
    expect(streamFault({ error: { code: 'x', message: 'broken' } }).kind).toBe('engine');
  });
});
