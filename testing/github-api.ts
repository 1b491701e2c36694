/**
 * A stand-in for the comments part of GitHub's REST API: a real server with its state in memory. All requests and
 * responses are validated against GitHub's description of the API. Any deviation fails the test that started the
 * server.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ApiRequest, type ApiResponse, type ApiValidator, loadValidator } from './github-description.ts';
import { JOB_TOKEN } from './runner.ts';

/** The author of a comment. */
export interface Author {
  readonly login: string;
  readonly id: number;
  readonly type: 'Bot' | 'User';
}

/** A comment, as in the API. */
export interface ApiComment {
  readonly id: number;
  body: string;
  readonly user: Author;
}

/** The operation of a request. */
export type ApiOperation = 'list' | 'create' | 'update' | 'remove' | 'user';

/** A recorded request. */
export interface SeenApiRequest extends ApiRequest {
  readonly operation: ApiOperation;
  /** Whether the repository is given by number, as in GitHub's own links; `url` always contains the name. */
  readonly isByNumber: boolean;
  /** 1 for the first of its operation, and so on. */
  readonly nth: number;
}

/** What to do with a request; undefined handles it normally. */
export type ApiFault =
  | undefined
  /** Respond with GitHub's usual error body. */
  | { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> }
  /** Respond with a page that does not come from GitHub, like one of a proxy. */
  | { readonly status: number; readonly page: string; readonly headers?: Readonly<Record<string, string>> }
  /** Close the connection before or after handling the request. */
  | { readonly cut: 'before' | 'after' }
  /** Handle the request when this is fulfilled. */
  | { readonly after: Promise<unknown> };

/**
 * How many list requests after a write return the old state, as GitHub's do for some seconds. Counted in requests, so
 * that tests do not depend on time. Infinity: all of them.
 */
export type ApiLag = Partial<Readonly<Record<'create' | 'update' | 'remove', number>>>;

/** Options of the server. */
export interface ApiOptions {
  /** If undefined, lists are always current. */
  readonly lag?: ApiLag;
  /** The base path of the API: `/api/v3` on an Enterprise Server. */
  readonly base?: string;
  /** The name of the description to validate against. */
  readonly description?: string;
  readonly rule?: (seen: SeenApiRequest) => ApiFault;
}

/** A running server. */
export interface GitHubApi extends AsyncDisposable {
  /** For GITHUB_API_URL. */
  readonly url: string;
  readonly requests: readonly SeenApiRequest[];
  /** Comments of pull request 5, oldest first; tests may add their own. */
  readonly comments: ApiComment[];
  /** The permission of the job's token; that of the person is always `write`. */
  permission: 'write' | 'read' | 'none';
  isLocked: boolean;
  /** Adds a comment. */
  comment(author: Author, body: string): ApiComment;
  operations(): ApiOperation[];
}

/** The only pull request. */
export const PULL_REQUEST = 5;
/** The token of a person. */
export const PERSON_TOKEN = 'ghp_tokenOfAPerson';
export const ACTIONS_BOT: Author = { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' };
export const OTHER_BOT: Author = { login: 'other-app[bot]', id: 41_898_283, type: 'Bot' };
export const PERSON: Author = { login: 'octocat', id: 583_231, type: 'User' };
export const STRANGER: Author = { login: 'mona', id: 2, type: 'User' };

const MAX_CHARACTERS = 65_536;
const MESSAGES = {
  read: 'Resource not accessible by integration',
  missing: 'Not Found',
  token: 'Bad credentials',
};
/** Loading a description takes half a second, so it is loaded only once. */
const validators = new Map<string, ApiValidator>();

/** Starts a server; disposing of it throws if any request or response does not match the description. */
export async function startGitHubApi({
  base = '',
  description = 'api.github.com',
  rule = () => undefined,
  lag = {},
}: ApiOptions = {}): Promise<GitHubApi> {
  const validator = validators.get(description) ?? loadValidator(description);
  validators.set(description, validator);
  const state = new State(base, lag);
  const requests: SeenApiRequest[] = [];
  const faults: string[] = [];
  const server = createServer((incoming, response) => {
    void handle(incoming, response).catch((error: Error) => {
      faults.push(String(error.stack));
      response.destroy();
    });
  });
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await requestOf(incoming, base);
    const operation = operationOf(request);
    const nth = requests.filter((seen) => seen.operation === operation).length + 1;
    const seen = { ...request, operation, nth };
    requests.push(seen);
    const fault = rule(seen);
    if (fault !== undefined && 'page' in fault) return reply(response, pageOf(fault));
    if (fault !== undefined && 'after' in fault) await fault.after;
    if (fault !== undefined && 'cut' in fault && fault.cut === 'before') return void response.destroy();
    const answer =
      fault !== undefined && 'status' in fault
        ? refusal(fault.status, fault.message, fault.headers)
        : state.answer(seen, state.url);
    faults.push(...validator.faultsOf(request, answer));
    if (request.headers['user-agent'] === undefined) faults.push('a request without User-Agent');
    if (fault !== undefined && 'cut' in fault) return void response.destroy();
    reply(response, answer);
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`;
  return Object.assign(state, {
    requests,
    operations: () => requests.map(({ operation }) => operation),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      if (faults.length > 0)
        throw new Error(`Not as in GitHub’s description of its API:\n${faults.join('\n')}`);
    },
  });
}

class State {
  readonly comments: ApiComment[] = [];
  readonly base: string;
  permission: 'write' | 'read' | 'none' = 'write';
  isLocked = false;
  url = '';
  #nextId = 1001;
  readonly #lag: ApiLag;
  readonly #editedAt = new WeakMap<ApiComment, string>();
  /** Number of lists so far; all pages of a list count as one. */
  #lists = 0;
  /** Writes that lists do not show yet, and the last list that does not show them. */
  readonly #hidden: { readonly until: number; readonly undo: (comments: ApiComment[]) => ApiComment[] }[] =
    [];

  constructor(base: string, lag: ApiLag) {
    this.base = base;
    this.#lag = lag;
  }

  comment(user: Author, body: string): ApiComment {
    const comment = { id: this.#nextId, body, user };
    this.#nextId += 1;
    this.comments.push(comment);
    return comment;
  }

  answer({ operation, url, headers, body }: SeenApiRequest, base: string): ApiResponse {
    const [, token] = /^(?:token|bearer) (\S+)$/i.exec(String(headers.authorization)) ?? [];
    const author = { [JOB_TOKEN]: ACTIONS_BOT, [PERSON_TOKEN]: PERSON }[token ?? ''];
    if (author === undefined) return refusal(401, MESSAGES.token);
    if (operation === 'user')
      return author.type === 'Bot' ? refusal(403, MESSAGES.read) : json(200, person(author));
    if (author.type === 'Bot' && this.permission === 'none') return refusal(404, MESSAGES.missing);
    if (operation === 'list') return this.#list(url, base);
    const accepted = { 'x-accepted-github-permissions': 'issues=write; pull_requests=write' };
    if (author.type === 'Bot' && this.permission === 'read') return refusal(403, MESSAGES.read, accepted);
    if (operation === 'create') return this.#create(url, body, author);
    const id = Number(url.split('/').at(-1));
    const index = this.comments.findIndex((comment) => comment.id === id);
    const comment = this.comments[index];
    if (comment === undefined) return refusal(404, MESSAGES.missing);
    if (operation === 'remove') {
      this.comments.splice(index, 1);
      this.#hide('remove', (comments) => [...comments, comment].toSorted((a, b) => a.id - b.id));
      return { status: 204, headers: {}, body: '' };
    }
    const text = bodyOf(body);
    if (isTooLong(text)) return tooLong();
    const before = { ...comment };
    const editedAt = this.#editedAt.get(comment);
    if (editedAt !== undefined) this.#editedAt.set(before, editedAt);
    this.#hide('update', (comments) => comments.map((shown) => (shown.id === id ? before : shown)));
    comment.body = text;
    this.#editedAt.set(comment, now());
    return json(200, this.#shown(comment));
  }

  #hide(operation: keyof ApiLag, undo: (comments: ApiComment[]) => ApiComment[]): void {
    this.#hidden.push({ until: this.#lists + (this.#lag[operation] ?? 0), undo });
  }

  /** Undoes hidden writes, the latest first. */
  #listed(): ApiComment[] {
    return this.#hidden
      .filter(({ until }) => this.#lists <= until)
      .reduceRight((comments, { undo }) => undo(comments), [...this.comments]);
  }

  #list(url: string, base: string): ApiResponse {
    const { pathname, searchParams } = new URL(url, 'http://api');
    if (!pathname.endsWith(`/issues/${PULL_REQUEST}/comments`)) return refusal(404, MESSAGES.missing);
    const size = Math.min(Number(searchParams.get('per_page') ?? 30), 100);
    const page = Number(searchParams.get('page') ?? 1);
    if (page === 1) this.#lists += 1;
    const listed = this.#listed();
    const shown = listed.slice((page - 1) * size, page * size).map((comment) => this.#shown(comment));
    // GitHub's links contain the repository's number, which is missing in the description.
    const next = `<${base}/repositories/1296269/issues/${PULL_REQUEST}/comments?per_page=${size}&page=${page + 1}>; rel="next"`;
    return json(200, shown, page * size < listed.length ? { link: next } : {});
  }

  #create(url: string, body: string, author: Author): ApiResponse {
    if (!url.endsWith(`/issues/${PULL_REQUEST}/comments`)) return refusal(404, MESSAGES.missing);
    if (this.isLocked) return refusal(403, 'Unable to create comment because issue is locked.');
    const text = bodyOf(body);
    if (isTooLong(text)) return tooLong();
    const comment = this.comment(author, text);
    this.#hide('create', (comments) => comments.filter(({ id }) => id !== comment.id));
    return json(201, this.#shown(comment));
  }

  #shown(comment: ApiComment): object {
    const { id, body, user } = comment;
    const html = `https://github.com/octo/demo`;
    return {
      id,
      node_id: `IC_${id}`,
      url: `${this.url}/repos/octo/demo/issues/comments/${id}`,
      html_url: `${html}/pull/${PULL_REQUEST}#issuecomment-${id}`,
      issue_url: `${this.url}/repos/octo/demo/issues/${PULL_REQUEST}`,
      body,
      user: simpleUser(user),
      created_at: '2026-01-01T00:00:00Z',
      updated_at: this.#editedAt.get(comment) ?? '2026-01-01T00:00:00Z',
      author_association: user.type === 'Bot' ? 'NONE' : 'CONTRIBUTOR',
      performed_via_github_app: null,
    };
  }
}

async function requestOf(
  incoming: IncomingMessage,
  base: string,
): Promise<ApiRequest & Pick<SeenApiRequest, 'isByNumber'>> {
  const { method = '', url = '', headers } = incoming;
  const path = url.startsWith(`${base}/`) ? url.slice(base.length) : `/outside${url}`;
  const isByNumber = path.startsWith('/repositories/1296269/');
  return {
    method,
    url: path.replace('/repositories/1296269/', '/repos/octo/demo/'),
    isByNumber,
    headers,
    body: await text(incoming),
  };
}

function operationOf({ method, url }: ApiRequest): ApiOperation {
  const operations = { GET: 'list', POST: 'create', PATCH: 'update', DELETE: 'remove' } as const;
  return url === '/user' ? 'user' : operations[method as keyof typeof operations];
}

function bodyOf(request: string): string {
  return (JSON.parse(request) as { readonly body: string }).body;
}

/** With a precision of seconds, as in the API. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+/, '');
}

function isTooLong(body: string): boolean {
  return [...body].length > MAX_CHARACTERS;
}

function tooLong(): ApiResponse {
  const message = `Body is too long (maximum is ${MAX_CHARACTERS} characters)`;
  return json(422, {
    message: 'Validation Failed',
    documentation_url: 'https://docs.github.com/rest',
    errors: [{ resource: 'IssueComment', code: 'unprocessable', field: 'data', message }],
  });
}

function refusal(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  const documentation_url = 'https://docs.github.com/rest';
  return json(status, { message, documentation_url, status: String(status) }, headers);
}

function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

function pageOf({ status, page, headers = {} }: Extract<ApiFault, { page: string }>): ApiResponse {
  return { status, headers: { 'content-type': 'text/html', ...headers }, body: page };
}

function reply(response: ServerResponse, { status, headers, body }: ApiResponse): void {
  response.writeHead(status, headers);
  response.end(body);
}

function simpleUser({ login, id, type }: Author): object {
  const url = `https://api.github.com/users/${encodeURIComponent(login)}`;
  return {
    login,
    id,
    node_id: `U_${id}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${id}`,
    gravatar_id: '',
    url,
    html_url: `https://github.com/${encodeURIComponent(login)}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    site_admin: false,
  };
}

function person(author: Author): object {
  const empty = {
    name: null,
    company: null,
    blog: null,
    location: null,
    email: null,
    hireable: null,
    bio: null,
  };
  const counts = { public_repos: 0, public_gists: 0, followers: 0, following: 0 };
  const times = { created_at: '2020-01-01T00:00:00Z', updated_at: '2020-01-01T00:00:00Z' };
  return { ...simpleUser(author), ...empty, ...counts, ...times, user_view_type: 'public' };
}
