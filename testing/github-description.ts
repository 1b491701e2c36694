/**
 * Validates requests and responses against GitHub's description of its REST API. github-api.json contains the relevant
 * part of @octokit/openapi; `npm run refresh-github-api` writes it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { default as addFormats } from 'ajv-formats';
import { ROOT } from './runner.ts';

/** A request. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query, without the API's base path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A response. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Finds deviations from a description. */
export interface ApiValidator {
  /** The template of a path, such as `/user`; undefined if the description has none that matches. */
  templateOf(method: string, url: string): string | undefined;
  /** All deviations of a request and its response. */
  faultsOf(request: ApiRequest, response: ApiResponse): string[];
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
/** An OpenAPI 3.0 document. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /** By kind, such as `schemas`, and name. */
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The contents of github-api.json. */
export interface Extract {
  /** The package and its version. */
  readonly source: string;
  /** By their names in the package. */
  readonly descriptions: Readonly<Record<string, Description>>;
}

/** The paths that the action uses. */
const PATHS = [
  '/user',
  '/repos/{owner}/{repo}/issues/{issue_number}/comments',
  '/repos/{owner}/{repo}/issues/comments/{comment_id}',
];
/** Keywords that do not affect validation; kept if they are names of a schema's properties. */
const PROSE = new Set(['description', 'summary', 'example', 'examples', 'externalDocs', 'tags']);

/**
 * Any operation may respond with these statuses, although the description lists them only for some (GitHub docs,
 * "Troubleshooting the REST API"). Their bodies are validated against the response with this name.
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
 * The part of a description that is needed to validate the action's requests: three paths, the responses that any
 * operation may have, and everything that these refer to, without prose.
 */
export function extractOf(whole: Description): Description {
  const paths = Object.fromEntries(PATHS.map((path) => [path, withoutProse(whole.paths[path]) as never]));
  const components: Record<string, Record<string, unknown>> = {};
  const pending = [
    ...Object.values(ANYWHERE).map((name) => `/components/responses/${name}`),
    ...referencesIn(paths),
  ];
  for (let pointer = pending.pop(); pointer !== undefined; pointer = pending.pop()) {
    const [kind, name] = pointer.split('/').slice(2) as [string, string];
    components[kind] ??= {};
    if (name in components[kind]) continue;
    components[kind][name] = withoutProse(follow(whole, pointer));
    pending.push(...referencesIn(components[kind][name]));
  }
  return { paths, components };
}

/** The targets of all `$ref`s in a value, as JSON pointers. */
function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, pointer]) => pointer!);
}

function withoutProse(value: unknown, isByName = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => isByName || !(PROSE.has(key) || key.startsWith('x-')));
  return Object.fromEntries(
    kept.map(([key, item]) => [key, withoutProse(item, !isByName && key === 'properties')]),
  );
}

/**
 * Loads a description.
 *
 * @param name - `api.github.com`, or that of an Enterprise Server, such as `ghes-3.19`
 * @throws Error if github-api.json does not contain it
 */
export function loadValidator(name: string): ApiValidator {
  const extract: Extract = JSON.parse(readFileSync(join(ROOT, 'testing/github-api.json'), 'utf8'));
  const description = extract.descriptions[name];
  if (description === undefined) throw new Error(`testing/github-api.json does not describe ${name}.`);
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
    const matching = Object.entries(description.paths).filter(
      ([template, operations]) => method.toLowerCase() in operations && matches(template, path),
    );
    // Literal segments take precedence over parameters (OpenAPI 3.0, "Path Templating Matching").
    return matching.sort(([a], [b]) => a.split('{').length - b.split('{').length)[0]?.[0];
  };
  return {
    templateOf,
    faultsOf(request, response) {
      const template = templateOf(request.method, request.url);
      if (template === undefined) return [`${request.method} ${request.url} is not described`];
      const at = `/paths/${escapeToken(template)}/${request.method.toLowerCase()}`;
      const operation = resolve<Operation>(at);
      return [
        ...faultsOfParameters(operation, at, template, request, resolve, check),
        ...faultsOfBody(operation, at, request, check),
        ...faultsOfResponse(operation, at, response, resolve, check),
      ].map((fault) => `${request.method} ${request.url} (${response.status}): ${fault}`);
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
    if (value === undefined) faults.push(...(required ? [`has no ${place} parameter ${name}`] : []));
    else
      faults.push(
        ...check(`${place} parameter ${name}`, `${pointer}/schema`, typed(value, pointer, resolve)),
      );
  }
  return [...faults, ...[...given.keys()].map((name) => `has a parameter that is not described: ${name}`)];
}

function faultsOfBody({ requestBody }: Operation, at: string, request: ApiRequest, check: Check): string[] {
  if (requestBody === undefined) return request.body === '' ? [] : ['has a body where none is described'];
  if (request.body === '') return requestBody.required ? ['has no body'] : [];
  if (!/^application\/json(;|$)/.test(String(request.headers['content-type'])))
    return ['is not sent as JSON'];
  const schema = `${at}/requestBody/content/application~1json/schema`;
  const body: object = JSON.parse(request.body);
  const unknown = Object.keys(body).filter((name) => name !== 'body');
  return [...check('body', schema, body), ...unknown.map((name) => `body has a member ${name}`)];
}

function faultsOfResponse(
  { responses }: Operation,
  at: string,
  { status, headers, body }: ApiResponse,
  resolve: Resolve,
  check: Check,
): string[] {
  const named = ANYWHERE[status];
  if (!(String(status) in responses) && named === undefined)
    return ['has a response with a status that is not described'];
  const pointer =
    String(status) in responses
      ? pointerOf(`${at}/responses/${status}`, resolve)
      : `/components/responses/${named}`;
  if (resolve<Content>(pointer).content === undefined)
    return body === '' ? [] : ['has a response body where none is described'];
  if (!(headers['content-type'] ?? '').startsWith('application/json'))
    return ['has a response that is not JSON'];
  return check('response', `${pointer}/content/application~1json/schema`, JSON.parse(body));
}

/** Converts a value from a URL to a number if the description requires one. */
function typed(value: string, pointer: string, resolve: Resolve): unknown {
  const { type } = resolve<{ type?: string }>(pointerOf(`${pointer}/schema`, resolve));
  return type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
}

/** Follows `$ref`s. */
function pointerOf(pointer: string, resolve: Resolve): string {
  const { $ref } = resolve<{ $ref?: string }>(pointer);
  return $ref === undefined ? pointer : pointerOf($ref.slice(1), resolve);
}

/** Resolves a JSON pointer (RFC 6901). */
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

function matches(template: string, path: string): boolean {
  return new RegExp(patternOf(template)).test(path);
}

function patternOf(template: string): string {
  const parts = template.split(/\{[^}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return `^${parts.join('([^/]+)')}$`;
}
