/**
 * What the page asks of the API, and who is signed in.
 *
 * Owns: the session that the server told of, and when it ends. Never: throws for an answer; a problem is a value.
 * A1  What changes something shows the session's token. A2  Whoever is no longer known is led to sign in, from anywhere.
 * A3  What is asked while nobody has touched the page for a minute is the page's own doing: it does not keep a session alive.
 */
import { signal } from "@preact/signals";
import type { ProblemDetails } from "../../src/contract/http.ts";
import type { SessionView } from "../../src/contract/session.ts";

/** Undefined: not asked yet; null: nobody is signed in. */
export const session = signal<SessionView | null | undefined>(undefined);
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

interface Asked {
  readonly method?: "GET" | "HEAD" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** The same for each attempt of one request: it is carried out once. */
  readonly key?: string;
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
  { method = "GET", body, signal: stop, key }: Asked = {},
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
  };
  const response = await fetch(path, init).catch(() => null);
  if (response === null) return null;
  const end = Date.parse(response.headers.get("session-expires") ?? "");
  if (!Number.isNaN(end)) sessionEnd.value = end;
  if (response.status === 401) session.value = null;
  return response;
}

export async function ask<T>(path: string, asked: Asked = {}): Promise<Answer<T>> {
  const response = await send(path, asked);
  if (response === null) return { ok: false, problem: unreachable };
  if (!response.ok) return { ok: false, problem: await readProblem(response) };
  const value = response.status === 204 ? null : await response.json().catch(() => null);
  return { ok: true, value: value as T };
}

const unreachable: Problem = {
  status: 0,
  code: "",
  detail: "The server cannot be reached.",
  next: null,
};

export async function readProblem(response: Response): Promise<Problem> {
  const told = (await response.json().catch(() => null)) as ProblemDetails | null;
  return {
    status: response.status,
    code: told?.extensions?.code ?? "",
    detail: told?.detail ?? `The server answered ${response.status}.`,
    next: told?.extensions?.next ?? null,
  };
}

export async function readSession(): Promise<void> {
  const told = await ask<SessionView>("/v1/session");
  if (told.ok) session.value = told.value;
  else if (session.peek() === undefined && told.problem.status !== 0) session.value = null;
}

export async function signOut(): Promise<void> {
  await ask("/v1/session", { method: "DELETE" });
  session.value = null;
}

export const isMe = (one: { readonly type?: string | undefined; readonly id: string | number } | null): boolean => {
  const me = session.value?.principal;
  return one !== null && me !== undefined && one.id === me.id && (one.type ?? me.type) === me.type;
};
