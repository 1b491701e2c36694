/**
 * A stand-in for GitHub's REST API, as far as comments go: a real server with its state in memory. Each request
 * and each answer, its own ones too, is held against GitHub's description of the API; what does not fit fails the
 * test that started the server.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ApiAnswer, type ApiRequest, type Judge, judgeBy } from './github-description.ts';
import { JOB_TOKEN } from './runner.ts';

/** Someone who comments. */
export interface Author {
  readonly login: string;
  readonly id: number;
  readonly type: 'Bot' | 'User';
}

/** A comment as the API gives it. */
export interface ApiComment {
  readonly id: number;
  body: string;
  readonly user: Author;
}

/** What a request asks for. */
export type ApiOperation = 'list' | 'create' | 'update' | 'remove' | 'user';

/** A request that came by. */
export interface SeenApiRequest extends ApiRequest {
  readonly operation: ApiOperation;
  /** Whether it names the repository by its number, as GitHub's own links do; `url` has the name all the same. */
  readonly isByNumber: boolean;
  /** 1 for the first of its operation, and so on. */
  readonly nth: number;
}

/** What happens to a request; undefined lets it pass. */
export type ApiFault =
  | undefined
  /** Answer with GitHub's usual error body. */
  | { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> }
  /** Answer in words that are none of GitHub's, as a proxy's page. */
  | { readonly status: number; readonly page: string; readonly headers?: Readonly<Record<string, string>> }
  /** Cut the line before the work is done, or after. */
  | { readonly cut: 'before' | 'after' }
  /** Do the work when this is fulfilled. */
  | { readonly after: Promise<unknown> };

/**
 * How many lists after a write do not show it yet, as GitHub's do for some seconds; counted in lists, since a test's
 * outcome must not depend on time. Infinity: none ever does.
 */
export type ApiLag = Partial<Readonly<Record<'create' | 'update' | 'remove', number>>>;

/** How to start it. */
export interface ApiOptions {
  /** undefined: each list shows what is. */
  readonly lag?: ApiLag;
  /** The path that the API lies below: `/api/v3` on an Enterprise Server. */
  readonly base?: string;
  /** Which description judges. */
  readonly description?: string;
  readonly rule?: (seen: SeenApiRequest) => ApiFault;
}

/** A server that runs. */
export interface GitHubApi extends AsyncDisposable {
  /** For GITHUB_API_URL. */
  readonly url: string;
  readonly requests: readonly SeenApiRequest[];
  /** Comments of pull request 5, oldest first; a test may put its own there. */
  readonly comments: ApiComment[];
  /** What the job's token may do; the person's token may always write. */
  permission: 'write' | 'read' | 'none';
  isLocked: boolean;
  /** Puts a comment there. */
  comment(author: Author, body: string): ApiComment;
  operations(): ApiOperation[];
}

/** The pull request that there is. */
export const PULL_REQUEST = 5;
/** A token of a person. */
export const PERSON_TOKEN = 'ghp_tokenOfAPerson';
export const ACTIONS_BOT: Author = { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' };
export const OTHER_BOT: Author = { login: 'other-app[bot]', id: 41_898_283, type: 'Bot' };
export const PERSON: Author = { login: 'octocat', id: 583_231, type: 'User' };
export const STRANGER: Author = { login: 'mona', id: 2, type: 'User' };

const MAX_CHARACTERS = 65_536;
const WORDS = {
  read: 'Resource not accessible by integration',
  missing: 'Not Found',
  token: 'Bad credentials',
};
/** Reading a description takes half a second, so it is read once. */
const judges = new Map<string, Judge>();

/** Starts a server; disposing of it throws when anything did not fit the description. */
export async function startGitHubApi({
  base = '',
  description = 'api.github.com',
  rule = () => undefined,
  lag = {},
}: ApiOptions = {}): Promise<GitHubApi> {
  const judge = judges.get(description) ?? judgeBy(description);
  judges.set(description, judge);
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
    faults.push(...judge.faultsOf(request, answer));
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
      if (faults.length > 0) throw new Error(`Not as GitHub describes its API:\n${faults.join('\n')}`);
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
  /** Lists so far, each with all its pages. */
  #lists = 0;
  /** What lists are still to show otherwise than it is, and until which list. */
  readonly #veils: { readonly until: number; readonly veil: (comments: ApiComment[]) => ApiComment[] }[] = [];

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

  answer({ operation, url, headers, body }: SeenApiRequest, base: string): ApiAnswer {
    const [, token] = /^(?:token|bearer) (\S+)$/i.exec(String(headers.authorization)) ?? [];
    const author = { [JOB_TOKEN]: ACTIONS_BOT, [PERSON_TOKEN]: PERSON }[token ?? ''];
    if (author === undefined) return refusal(401, WORDS.token);
    if (operation === 'user')
      return author.type === 'Bot' ? refusal(403, WORDS.read) : json(200, person(author));
    if (author.type === 'Bot' && this.permission === 'none') return refusal(404, WORDS.missing);
    if (operation === 'list') return this.#list(url, base);
    const accepted = { 'x-accepted-github-permissions': 'issues=write; pull_requests=write' };
    if (author.type === 'Bot' && this.permission === 'read') return refusal(403, WORDS.read, accepted);
    if (operation === 'create') return this.#create(url, body, author);
    const id = Number(url.split('/').at(-1));
    const index = this.comments.findIndex((comment) => comment.id === id);
    const comment = this.comments[index];
    if (comment === undefined) return refusal(404, WORDS.missing);
    if (operation === 'remove') {
      this.comments.splice(index, 1);
      this.#veil('remove', (comments) => [...comments, comment].toSorted((a, b) => a.id - b.id));
      return { status: 204, headers: {}, body: '' };
    }
    const text = bodyOf(body);
    if (isTooLong(text)) return tooLong();
    const before = { ...comment };
    const editedAt = this.#editedAt.get(comment);
    if (editedAt !== undefined) this.#editedAt.set(before, editedAt);
    this.#veil('update', (comments) => comments.map((shown) => (shown.id === id ? before : shown)));
    comment.body = text;
    this.#editedAt.set(comment, now());
    return json(200, this.#shown(comment));
  }

  #veil(operation: keyof ApiLag, veil: (comments: ApiComment[]) => ApiComment[]): void {
    this.#veils.push({ until: this.#lists + (this.#lag[operation] ?? 0), veil });
  }

  /** The latest write is undone first. */
  #listed(): ApiComment[] {
    return this.#veils
      .filter(({ until }) => this.#lists <= until)
      .reduceRight((comments, { veil }) => veil(comments), [...this.comments]);
  }

  #list(url: string, base: string): ApiAnswer {
    const { pathname, searchParams } = new URL(url, 'http://api');
    if (!pathname.endsWith(`/issues/${PULL_REQUEST}/comments`)) return refusal(404, WORDS.missing);
    const size = Math.min(Number(searchParams.get('per_page') ?? 30), 100);
    const page = Number(searchParams.get('page') ?? 1);
    if (page === 1) this.#lists += 1;
    const listed = this.#listed();
    const shown = listed.slice((page - 1) * size, page * size).map((comment) => this.#shown(comment));
    // GitHub links by the repository's number, which its description does not have.
    const next = `<${base}/repositories/1296269/issues/${PULL_REQUEST}/comments?per_page=${size}&page=${page + 1}>; rel="next"`;
    return json(200, shown, page * size < listed.length ? { link: next } : {});
  }

  #create(url: string, body: string, author: Author): ApiAnswer {
    if (!url.endsWith(`/issues/${PULL_REQUEST}/comments`)) return refusal(404, WORDS.missing);
    if (this.isLocked) return refusal(403, 'Unable to create comment because issue is locked.');
    const text = bodyOf(body);
    if (isTooLong(text)) return tooLong();
    const comment = this.comment(author, text);
    this.#veil('create', (comments) => comments.filter(({ id }) => id !== comment.id));
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

/** To the second, as GitHub says it. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+/, '');
}

function isTooLong(body: string): boolean {
  return [...body].length > MAX_CHARACTERS;
}

function tooLong(): ApiAnswer {
  const message = `Body is too long (maximum is ${MAX_CHARACTERS} characters)`;
  return json(422, {
    message: 'Validation Failed',
    documentation_url: 'https://docs.github.com/rest',
    errors: [{ resource: 'IssueComment', code: 'unprocessable', field: 'data', message }],
  });
}

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): ApiAnswer {
  const documentation_url = 'https://docs.github.com/rest';
  return json(status, { message, documentation_url, status: String(status) }, headers);
}

function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): ApiAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

function pageOf({ status, page, headers = {} }: Extract<ApiFault, { page: string }>): ApiAnswer {
  return { status, headers: { 'content-type': 'text/html', ...headers }, body: page };
}

function reply(response: ServerResponse, { status, headers, body }: ApiAnswer): void {
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
