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

const judge = loadValidator('api.github.com');
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

describe('the judge of the API’s stand-in', () => {
  test.each<[title: string, request: ApiRequest, answer: ApiResponse]>([
    ['an empty list', LIST, json(200, [])],
    ['a refusal', CREATE, REFUSED],
    [
      'a deletion',
      { ...LIST, method: 'DELETE', url: '/repos/octo/demo/issues/comments/1' },
      { status: 204, headers: {}, body: '' },
    ],
  ])('lets %s pass', (_title, request, answer) => {
    expect(judge.faultsOf(request, answer)).toEqual([]);
  });

  test.each<[title: string, request: ApiRequest, answer: ApiResponse, fault: string]>([
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
      'a body of another form',
      { ...CREATE, body: '{"text":"x"}' },
      REFUSED,
      "must have required property 'body'",
    ],
    ['a body with a member too many', { ...CREATE, body: '{"body":"x","x":1}' }, REFUSED, 'a member x'],
    ['a body that is not said to be JSON', { ...CREATE, headers: {} }, REFUSED, 'is not sent as JSON'],
    ['a body where there is none', { ...LIST, body: '{}' }, json(200, []), 'has a body'],
    ['an answer of another form', LIST, json(200, [{ id: 1 }]), "must have required property 'node_id'"],
    ['an answer with a status of another operation', CREATE, json(200, {}), 'a status that is not described'],
    ['a response that is not JSON', LIST, { ...json(200, []), headers: {} }, 'not JSON'],
  ])('finds %s', (_title, request, answer, fault) => {
    expect(judge.faultsOf(request, answer).join('\n')).toContain(fault);
  });
});

describe('the extract that the judge reads', () => {
  const { source, descriptions } = JSON.parse(readFileSync(join(ROOT, 'testing/github-api.json'), 'utf8'));

  test('says which version it is of', () => {
    expect(source).toMatch(/^@octokit\/openapi \d+\.\d+\.\d+$/);
  });

  test.each(Object.keys(descriptions))('of %s is whole, and holds nothing more', (name) => {
    expect(extractOf(descriptions[name])).toEqual(descriptions[name]);
  });

  test('keeps a property that is called like a member of prose', () => {
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
