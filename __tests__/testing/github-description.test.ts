import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  type ApiRequest,
  type ApiResponse,
  extractOf,
  loadValidator,
} from '../../testing/github-description.ts';
import { ROOT } from '../../testing/runner.ts';

const validator = loadValidator('api.github.com');
const LIST: ApiRequest = {
  method: 'GET',
  url: '/repos/octo/demo/issues/5/comments?per_page=100',
  headers: {},
  body: '',
};
const CREATE: ApiRequest = {
  method: 'POST',
  url: '/repos/octo/demo/issues/5/comments',
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: '{"body":"text"}',
};
const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
const REFUSED = json(403, { message: 'Forbidden' });

describe('the validator of GitHub’s API', () => {
  test.each<[title: string, request: ApiRequest, response: ApiResponse]>([
    ['an empty list', LIST, json(200, [])],
    ['a refusal', CREATE, REFUSED],
    [
      'a deletion',
      { ...LIST, method: 'DELETE', url: '/repos/octo/demo/issues/comments/1' },
      { status: 204, headers: {}, body: '' },
    ],
  ])('accepts %s', (_title, request, response) => {
    expect(validator.faultsOf(request, response)).toEqual([]);
  });

  test.each<[title: string, request: ApiRequest, response: ApiResponse, fault: string]>([
    [
      'a path that is not described',
      { ...LIST, url: '/repos/octo/demo/remarks' },
      json(200, []),
      'is not described',
    ],
    ['a method that is not described', { ...LIST, method: 'PUT' }, json(200, []), 'is not described'],
    ['an unknown parameter', { ...LIST, url: `${LIST.url}&per_pages=1` }, json(200, []), 'per_pages'],
    [
      'a parameter of another type',
      { ...LIST, url: '/repos/octo/demo/issues/5/comments?page=two' },
      json(200, []),
      'must be integer',
    ],
    [
      'a path parameter of another type',
      { ...LIST, url: '/repos/octo/demo/issues/five/comments' },
      json(200, []),
      'must be integer',
    ],
    ['no body', { ...CREATE, body: '' }, REFUSED, 'has no body'],
    [
      'a body that does not match the schema',
      { ...CREATE, body: '{"text":"x"}' },
      REFUSED,
      "must have required property 'body'",
    ],
    ['a body with an unknown property', { ...CREATE, body: '{"body":"x","x":1}' }, REFUSED, 'a member x'],
    ['a body that is not declared as JSON', { ...CREATE, headers: {} }, REFUSED, 'is not sent as JSON'],
    ['a body in a request that takes none', { ...LIST, body: '{}' }, json(200, []), 'has a body'],
    [
      'a response that does not match the schema',
      LIST,
      json(200, [{ id: 1 }]),
      "must have required property 'node_id'",
    ],
    [
      'a response with the status of another operation',
      CREATE,
      json(200, {}),
      'a status that is not described',
    ],
    ['a response that is not JSON', LIST, { ...json(200, []), headers: {} }, 'not JSON'],
  ])('rejects %s', (_title, request, response, fault) => {
    expect(validator.faultsOf(request, response).join('\n')).toContain(fault);
  });
});

describe('the extract that the validator reads', () => {
  const { source, descriptions } = JSON.parse(readFileSync(join(ROOT, 'testing/github-api.json'), 'utf8'));

  test('names its version', () => {
    expect(source).toMatch(/^@octokit\/openapi \d+\.\d+\.\d+$/);
  });

  test.each(Object.keys(descriptions))('of %s is complete, and contains nothing else', (name) => {
    expect(extractOf(descriptions[name])).toEqual(descriptions[name]);
  });

  test('keeps a property that has the same name as a field with prose', () => {
    const { properties } = descriptions['api.github.com'].components.schemas['public-user'];
    expect(Object.keys(properties)).toContain('name');
    const whole = structuredClone(descriptions['api.github.com']);
    whole.components.schemas['public-user'].properties.description = { type: 'string', description: 'prose' };
    expect(extractOf(whole).components.schemas!['public-user']).toMatchObject({
      properties: { description: { type: 'string' } },
    });
    expect(JSON.stringify(extractOf(whole))).not.toContain('prose');
  });
});
