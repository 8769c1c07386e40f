/**
 * Signing a browser in and out: the link with its code, its session, and the signed-in user.
 *
 * 1.  Opening the link shows a page and changes nothing: a preview or a prefetch does not use the code up. The page
 *     already shows what is wrong with a code, including that it was used, so that its owner notices a theft.
 * 2.  The page needs no script; its form is sent only to this host, and only this host may show it.
 * 3.  Only a page of this host may exchange a code, so that nobody is signed in as somebody else by another site.
 */

import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import { instantText } from "../../../contract/instant.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { SessionView } from "../../../contract/session.ts";
import { addRoute } from "../add-route.ts";
import type { Admission } from "../admit-caller.ts";
import { answerJson } from "../answer.ts";
import { fetchSiteOf } from "../check-origin.ts";
import { findStyle } from "../console-assets.ts";
import type { Call, Edge } from "../edge.ts";
import type { HttpCaller, SessionRules } from "../http-options.ts";
import { refuseRate } from "../limit-rate.ts";
import { readForm } from "../read-body.ts";
import { yes } from "../read-query.ts";
import { readCookie, writeCookie } from "../session-cookie.ts";
import { type CodeState, type Sessions, secretPattern } from "../sessions.ts";

const sessionRef = moduleRef(0, "http", "session");
const html = { description: "A page.", mediaType: "text/html" } as const;

export interface Door {
  readonly admission: Admission;
  readonly sessions: Sessions;
  readonly rules: SessionRules;
}

/** Returns the sign-in; null if the host offers no sessions. */
export const doorOf = ({ options }: Edge, admission: Admission): Door | null =>
  options.sessions === undefined || admission.sessions === null
    ? null
    : { admission, sessions: admission.sessions, rules: options.sessions };

/** Adds the addresses for callers who are not known yet. */
export function addLogin(edge: Edge, door: Door): void {
  const query = z.object({ code: z.string().optional() });
  const form = z.object({ code: z.string().regex(secretPattern).describe("The code of the link.") });
  const describe = { path: "/login", needs: "open" } as const;
  addRoute(
    edge,
    {
      ...describe,
      method: "get",
      operation: "showLogin",
      summary: "The page of a login link",
      query,
      answers: { 200: html },
    },
    (_, { code }) => showLogin(door, code, edge.options.console === true ? findStyle() : null),
  );
  addRoute(
    edge,
    {
      ...describe,
      method: "post",
      operation: "login",
      summary: "Exchanges the code of a login link, once, for the cookie of a session",
      form,
      answers: { 303: { description: "Signed in: `Set-Cookie` is the session, `Location` the page to go to." } },
    },
    (call) => login(call, edge, door),
  );
}

/** Adds the addresses for known callers. */
export function addSession(edge: Edge, door: Door | null): void {
  addRoute(
    edge,
    {
      method: "get",
      path: "/v1/session",
      operation: "readSession",
      summary: "Who one is, and what a page must send with what it changes",
      needs: null,
      answers: { 200: { description: "The caller.", schema: SessionView } },
    },
    (call) => answerJson(viewOf(call)),
  );
  if (door === null) return;
  addRoute(
    edge,
    {
      method: "delete",
      path: "/v1/session",
      operation: "endSession",
      summary: "Signs out",
      needs: null,
      query: z.object({
        everywhere: yes.optional().describe("Whether all sessions of the principal end, and links to sign in by."),
      }),
      answers: { 204: { description: "Signed out." } },
    },
    (call, { everywhere = false }) => logout(call, door, everywhere),
  );
}

export const loginPath = async ({ sessions }: Door, caller: HttpCaller): Promise<string> =>
  `/login?code=${await sessions.mintCode(caller)}`;

function viewOf(call: Call): SessionView {
  const { caller, via, proof, expiresAt } = call.get("known");
  const { tenant_id, principal, scopes = null } = caller;
  return {
    tenant_id,
    principal,
    scopes: scopes === null ? null : [...scopes],
    via,
    csrf_token: proof?.csrfToken ?? null,
    expires_at: expiresAt === null ? null : instantText(expiresAt),
  };
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
} as const;

/** Answers with a page in the style of the console, if there is one. */
function answerPage(body: string, style: string | null): Response {
  const policy = `${pageHeaders["content-security-policy"]}${style === null ? "" : "; style-src 'self'"}`;
  return new Response(page(body, style), { headers: { ...pageHeaders, "content-security-policy": policy } });
}

const page = (body: string, style: string | null): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="same-origin">
<title>Countersign</title>${style === null ? "" : `\n<link rel="stylesheet" href="${style}">`}
<main class="narrow">
<h1>Countersign</h1>
${body}
</main>
</html>
`;

const lookAt = async ({ sessions }: Door, code: string): Promise<CodeState> =>
  secretPattern.test(code) ? sessions.lookAt(code) : { is: "unknown" };

/** Shows the sign-in page; it holds the code if that is valid. */
async function showLogin(door: Door, code = "", style: string | null = null): Promise<Response> {
  const state = await lookAt(door, code);
  const form = `<form method="post" action="/login">
<p>Whoever goes on is signed in with this link, which works once.</p>
<input type="hidden" name="code" value="${code}">
<button class="primary">Sign in</button>
</form>`;
  const body = state.is === "good" ? form : `<p>This login link ${describeState(state)}.</p>`;
  return answerPage(body, style);
}

/** Describes what is wrong with a code, and the remedy, as the end of a sentence. */
function describeState(state: CodeState): string {
  const anew = "ask for a new one where the server runs (countersign login)";
  if (state.is === "used")
    return `was used at ${instantText(state.at)}; if that was not you, ${anew}, and sign out everywhere`;
  return state.is === "expired" ? `expired at ${instantText(state.at)}; ${anew}` : `is not known here; ${anew}`;
}

async function login(call: Call, { options }: Edge, door: Door): Promise<Response> {
  const { admission, sessions, rules } = door;
  const request = call.req.raw;
  if (fetchSiteOf(request, admission.ownOrigin(request)) === "elsewhere")
    raise(kernelError("T5_CSRF_REJECTED", "the form comes from a page of another origin", sessionRef));
  const code = (await readForm(request, options.limits)).get("code") ?? "";
  const secret = secretPattern.test(code) ? await sessions.begin(code) : null;
  if (secret === null) return refuseCode(admission, await lookAt(door, code));
  const origin = admission.ownOrigin(request);
  // The earlier session of the browser is unreachable from now on.
  const before = readCookie(request, origin);
  if (before !== null) await sessions.end(before);
  const cookie = writeCookie(secret, origin, rules.maxAgeMs);
  return new Response(null, { status: 303, headers: { location: rules.home, "set-cookie": cookie } });
}

function refuseCode({ failures }: Admission, state: CodeState): never {
  if (!failures.take()) refuseRate("maxFailedCallsPerSecond");
  const message = `the login link ${describeState(state)}`;
  return raise(kernelError("T5_AUTHN_FAILED", message, sessionRef, { detail: { link: state.is } }));
}

/** Signs out: the cookie is always removed; the session is ended if it identified the caller. */
async function logout(call: Call, { admission, sessions, rules }: Door, everywhere: boolean): Promise<Response> {
  const request = call.req.raw;
  const origin = admission.ownOrigin(request);
  const secret = call.get("known").via === "session" ? readCookie(request, origin) : null;
  if (secret !== null) await sessions.end(secret);
  if (everywhere) await sessions.endAll(call.get("caller"));
  return new Response(null, { status: 204, headers: { "set-cookie": writeCookie(null, origin, rules.maxAgeMs) } });
}
