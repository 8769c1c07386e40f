/**
 * What the page asks of the API, and who is signed in.
 *
 * Owns: the session that the server told of, and when it ends. Never: throws for an answer; a problem is a value.
 * 1.  What changes something shows the session's token. A2  Whoever is no longer known is led to sign in, from
 *     anywhere.
 * 3.  What is asked while nobody has touched the page for a minute is the page's own doing: it does not keep a session
 *     alive.
 */
import { signal } from "@preact/signals";
import type { ProblemDetails } from "../../src/contract/http.ts";
import type { SessionView } from "../../src/contract/session.ts";

/** Undefined: not asked yet; null: nobody is signed in. */
export const session = signal<SessionView | null | undefined>(undefined);
/** Why nobody knows yet who is signed in; null while the question is on its way, and once it is answered. */
export const sessionProblem = signal<Problem | null>(null);
/** Epoch ms; null where the server does not say. */
export const sessionEnd = signal<number | null>(null);

export interface Problem {
  /** 0: the server could not be reached. */
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly next: string | null;
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

interface RequestInput {
  readonly method?: "GET" | "HEAD" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** The same for each attempt of one request: it is carried out once. */
  readonly key?: string;
  /** It is sent even though the page is left. */
  readonly keepalive?: boolean;
}

export const kernel = "/v1/kernel";
export const workflowPath = (id: string, rest = ""): string => `${kernel}/workflows/${encodeURIComponent(id)}${rest}`;

const ownDoingAfterMs = 60_000;
let touched = Date.now();
const touch = (): void => {
  touched = Date.now();
};
for (const name of ["keydown", "pointerdown", "wheel"])
  window.addEventListener(name, touch, { capture: true, passive: true });

/** The response as it came; null where there was none. */
export async function send(
  path: string,
  { method = "GET", body, signal: stop, key, keepalive = false }: RequestInput = {},
): Promise<Response | null> {
  const token = method === "GET" || method === "HEAD" ? null : session.peek()?.csrf_token;
  const headers = {
    ...(token != null && { "x-csrf-token": token }),
    ...(Date.now() - touched > ownDoingAfterMs && { "session-use": "none" }),
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(key !== undefined && { "idempotency-key": key }),
  };
  const init = {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(stop && { signal: stop }),
    ...(keepalive && { keepalive }),
  };
  const response = await fetch(path, init).catch(() => null);
  if (response === null) return null;
  const end = Date.parse(response.headers.get("session-expires") ?? "");
  if (!Number.isNaN(end)) sessionEnd.value = end;
  if (response.status === 401) session.value = null;
  return response;
}

export async function ask<T>(path: string, asked: RequestInput = {}): Promise<Answer<T>> {
  const response = await send(path, asked);
  if (response === null) return { ok: false, problem: unreachable };
  if (!response.ok) return { ok: false, problem: await readProblem(response) };
  if (response.status === 204) return { ok: true, value: null as T };
  return response.json().then(
    (value: T) => ({ ok: true, value }) as const,
    () => ({ ok: false, problem: unreadable }) as const,
  );
}

const patienceMs = 30_000;

/** Reads what a page shows. A server that takes the question and gives no answer is one that cannot be reached. */
export async function askInTime<T>(path: string, stop: AbortSignal | null = null): Promise<Answer<T>> {
  const late = new AbortController();
  const timer = window.setTimeout(() => late.abort(), patienceMs);
  const signals = stop === null ? [late.signal] : [late.signal, stop];
  const answer = await ask<T>(path, { signal: AbortSignal.any(signals) });
  window.clearTimeout(timer);
  return late.signal.aborted ? { ok: false, problem: silent } : answer;
}

const unreachable: Problem = {
  status: 0,
  code: "",
  detail: "The server cannot be reached.",
  next: null,
};

const unreadable: Problem = { ...unreachable, detail: "The server's answer broke off, or cannot be read." };
const silent: Problem = { ...unreachable, detail: "The server does not answer." };

export async function readProblem(response: Response): Promise<Problem> {
  const reported = (await response.json().catch(() => null)) as ProblemDetails | null;
  return {
    status: response.status,
    code: reported?.extensions?.code ?? "",
    detail: reported?.detail ?? `The server answered ${response.status}.`,
    next: reported?.extensions?.next ?? null,
  };
}

export async function readSession(): Promise<void> {
  sessionProblem.value = null;
  const reported = await askInTime<SessionView>("/v1/session");
  if (reported.ok) session.value = reported.value;
  else if (session.peek() !== undefined) return;
  else if (isFailure(reported.problem)) sessionProblem.value = reported.problem;
  else session.value = null;
}

/** Returns whether a question was not answered; a refusal is an answer. */
const isFailure = ({ status }: Problem): boolean => status === 0 || status === 429 || status >= 500;

export async function signOut(): Promise<void> {
  await ask("/v1/session", { method: "DELETE" });
  session.value = null;
}

export const isMe = (one: { readonly type?: string | undefined; readonly id: string | number } | null): boolean => {
  const me = session.value?.principal;
  return one !== null && me !== undefined && one.id === me.id && (one.type ?? me.type) === me.type;
};
