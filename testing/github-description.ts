/** GitHub's own description of its REST API (npm: @octokit/openapi), as a judge of requests and answers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { default as addFormats } from 'ajv-formats';
import { ROOT } from './runner.ts';

/** A request as it came. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query, without the API's base. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** An answer as it went. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Finds everything that the description does not allow. */
export interface Judge {
  /** The path's template, such as `/user`; undefined when the description has none that fits. */
  templateOf(method: string, url: string): string | undefined;
  faultsOf(request: ApiRequest, answer: ApiAnswer): string[];
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
}
interface Content {
  readonly content?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly parameters?: readonly object[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, object>>;
}
type Description = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

/**
 * Any operation may refuse, and the description lists these statuses at some of them only (GitHub docs,
 * "Troubleshooting the REST API"). Their bodies are held against the answer that stands there by this name.
 */
const ANYWHERE: Readonly<Record<number, string>> = {
  301: 'moved_permanently',
  401: 'requires_authentication',
  403: 'forbidden',
  404: 'not_found',
  429: 'forbidden',
  500: 'internal_error',
  502: 'internal_error',
  503: 'internal_error',
};

/**
 * Reads a description.
 *
 * @param name - `api.github.com`, or an Enterprise Server's such as `ghes-3.19`
 */
export function judgeBy(name: string): Judge {
  const file = join(ROOT, 'node_modules/@octokit/openapi/generated', `${name}.json`);
  const description: Description = JSON.parse(readFileSync(file, 'utf8'));
  const ajv = new Ajv({ strict: false, validateSchema: false, coerceTypes: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(description, 'github');
  const resolve = <Found>(pointer: string): Found => follow(description, pointer) as Found;
  const check = (what: string, pointer: string, value: unknown): string[] => {
    const validate = ajv.getSchema(`github#${pointer}`);
    if (validate === undefined) return [`${what}: the description has nothing at ${pointer}`];
    return validate(value)
      ? []
      : (validate.errors ?? []).map((e) => `${what}${e.instancePath}: ${e.message}`);
  };
  const templateOf = (method: string, url: string) => {
    const path = url.split('?')[0]!;
    const fitting = Object.entries(description.paths).filter(
      ([template, operations]) => method.toLowerCase() in operations && fits(template, path),
    );
    // What is written out goes before what is a parameter (OpenAPI 3.0, "Path Templating Matching").
    return fitting.sort(([a], [b]) => a.split('{').length - b.split('{').length)[0]?.[0];
  };
  return {
    templateOf,
    faultsOf(request, answer) {
      const template = templateOf(request.method, request.url);
      if (template === undefined) return [`${request.method} ${request.url} is not described`];
      const at = `/paths/${escapeToken(template)}/${request.method.toLowerCase()}`;
      const operation = resolve<Operation>(at);
      return [
        ...faultsOfParameters(operation, at, template, request, resolve, check),
        ...faultsOfBody(operation, at, request, check),
        ...faultsOfAnswer(operation, at, answer, resolve, check),
      ].map((fault) => `${request.method} ${request.url} (${answer.status}): ${fault}`);
    },
  };
}

type Resolve = <Found>(pointer: string) => Found;
type Check = (what: string, pointer: string, value: unknown) => string[];

function faultsOfParameters(
  operation: Operation,
  at: string,
  template: string,
  { url }: ApiRequest,
  resolve: Resolve,
  check: Check,
): string[] {
  const [path = '', query = ''] = url.split('?');
  const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
  const values = new RegExp(patternOf(template)).exec(path)!.slice(1);
  const given = new Map(names.map((name, index) => [`path ${name}`, decodeURIComponent(values[index]!)]));
  for (const [name, value] of new URLSearchParams(query)) given.set(`query ${name}`, value);
  const faults: string[] = [];
  for (const [index] of (operation.parameters ?? []).entries()) {
    const pointer = pointerOf(`${at}/parameters/${index}`, resolve);
    const { name, in: place, required } = resolve<Parameter>(pointer);
    const value = given.get(`${place} ${name}`);
    given.delete(`${place} ${name}`);
    if (value === undefined) faults.push(...(required ? [`lacks ${place} parameter ${name}`] : []));
    else
      faults.push(
        ...check(`${place} parameter ${name}`, `${pointer}/schema`, typed(value, pointer, resolve)),
      );
  }
  return [...faults, ...[...given.keys()].map((name) => `has a parameter that is not described: ${name}`)];
}

function faultsOfBody({ requestBody }: Operation, at: string, request: ApiRequest, check: Check): string[] {
  if (requestBody === undefined) return request.body === '' ? [] : ['has a body where none is described'];
  if (request.body === '') return requestBody.required ? ['lacks a body'] : [];
  if (!/^application\/json(;|$)/.test(String(request.headers['content-type'])))
    return ['is not sent as JSON'];
  const schema = `${at}/requestBody/content/application~1json/schema`;
  const body: object = JSON.parse(request.body);
  const unknown = Object.keys(body).filter((name) => name !== 'body');
  return [...check('body', schema, body), ...unknown.map((name) => `body has a member ${name}`)];
}

function faultsOfAnswer(
  { responses }: Operation,
  at: string,
  { status, headers, body }: ApiAnswer,
  resolve: Resolve,
  check: Check,
): string[] {
  const named = ANYWHERE[status];
  if (!(String(status) in responses) && named === undefined)
    return ['answers with a status that is not described'];
  const pointer =
    String(status) in responses
      ? pointerOf(`${at}/responses/${status}`, resolve)
      : `/components/responses/${named}`;
  if (resolve<Content>(pointer).content === undefined) return body === '' ? [] : ['answers with a body'];
  if (!(headers['content-type'] ?? '').startsWith('application/json')) return ['answers with no JSON'];
  return check('answer', `${pointer}/content/application~1json/schema`, JSON.parse(body));
}

/** Text in a URL is a number where the description says so. */
function typed(value: string, pointer: string, resolve: Resolve): unknown {
  const { type } = resolve<{ type?: string }>(pointerOf(`${pointer}/schema`, resolve));
  return type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
}

/** Follows `$ref` to where it leads. */
function pointerOf(pointer: string, resolve: Resolve): string {
  const { $ref } = resolve<{ $ref?: string }>(pointer);
  return $ref === undefined ? pointer : pointerOf($ref.slice(1), resolve);
}

/** RFC 6901. */
function follow(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, token) => (value as Record<string, unknown>)[token], document);
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

function fits(template: string, path: string): boolean {
  return new RegExp(patternOf(template)).test(path);
}

function patternOf(template: string): string {
  const parts = template.split(/\{[^}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return `^${parts.join('([^/]+)')}$`;
}
