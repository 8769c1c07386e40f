/**
 * A browser's way in and out: the link with its code, the session that it becomes, and who one is.
 *
 * L1  Opening the link shows a page and changes nothing: a preview or a prefetch does not use the code up.
 * L2  The page needs no script, and nothing but this host may be sent its form, or show it.
 * L3  Only a page of this host may exchange a code, so that nobody is signed in as somebody else by another site.
 */
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { SessionView } from "../../contract/session.ts";
import { addRoute } from "../add-route.ts";
import type { Admission } from "../admit-caller.ts";
import { answerJson } from "../answer.ts";
import { whenceOf } from "../check-origin.ts";
import type { Call, Edge } from "../edge.ts";
import type { HttpCaller, SessionRules } from "../http-options.ts";
import { refuseRate } from "../limit-rate.ts";
import { readForm } from "../read-body.ts";
import { readCookie, writeCookie } from "../session-cookie.ts";
import { type Sessions, secretPattern } from "../sessions.ts";

const sessionRef = moduleRef(0, "http", "session");
const html = { description: "A page.", mediaType: "text/html" } as const;

interface Door {
  readonly admission: Admission;
  readonly sessions: Sessions;
  readonly rules: SessionRules;
}

/** Null where the host offers no sessions. */
export const doorOf = ({ options }: Edge, admission: Admission): Door | null =>
  options.sessions === undefined || admission.sessions === null
    ? null
    : { admission, sessions: admission.sessions, rules: options.sessions };

/** The addresses for those who are not known yet. */
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
    (_, { code }) => showLogin(code),
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

/** The addresses of who is known. */
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
      answers: { 204: { description: "Signed out." } },
    },
    (call) => logout(call, door),
  );
}

export const loginPath = ({ sessions }: Door, caller: HttpCaller): string => `/login?code=${sessions.mintCode(caller)}`;

function viewOf(call: Call): SessionView {
  const { caller, via, proof, expiresAt } = call.get("known");
  const { tenant_id, principal, scopes = null } = caller;
  return {
    tenant_id,
    principal,
    scopes: scopes === null ? null : [...scopes],
    via,
    csrf_token: proof?.csrfToken ?? null,
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
} as const;

const page = (body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="same-origin">
<title>Countersign</title>
${body}
</html>
`;

/** The code goes back as it came if it has a code's form; nothing here looks it up. */
function showLogin(code = ""): Response {
  const body = secretPattern.test(code)
    ? `<form method="post" action="/login">
<input type="hidden" name="code" value="${code}">
<button>Sign in</button>
</form>`
    : "<p>This is no login link. Ask for a new one where the server was started.</p>";
  return new Response(page(body), { headers: pageHeaders });
}

async function login(call: Call, { options }: Edge, { admission, sessions, rules }: Door): Promise<Response> {
  const request = call.req.raw;
  if (whenceOf(request, admission.ownOrigin(request)) === "elsewhere")
    raise(kernelError("T5_CSRF_REJECTED", "the form comes from a page of another origin", sessionRef));
  const code = (await readForm(request, options.limits)).get("code") ?? "";
  const secret = secretPattern.test(code) ? sessions.begin(code) : null;
  if (secret === null) return refuseCode(admission);
  const origin = admission.ownOrigin(request);
  // Nobody can reach any more what the browser held until now.
  const before = readCookie(request, origin);
  if (before !== null) sessions.end(before);
  const cookie = writeCookie(secret, origin, rules.maxAgeMs);
  return new Response(null, { status: 303, headers: { location: rules.home, "set-cookie": cookie } });
}

function refuseCode({ failures }: Admission): never {
  if (!failures.take()) refuseRate("maxFailedCallsPerSecond");
  return raise(kernelError("T5_AUTHN_FAILED", "the login link is unknown, was used, or has expired", sessionRef));
}

/** Whoever calls, the cookie goes; a session is ended if it was what made the caller known. */
function logout(call: Call, { admission, sessions, rules }: Door): Response {
  const request = call.req.raw;
  const origin = admission.ownOrigin(request);
  const secret = call.get("known").via === "session" ? readCookie(request, origin) : null;
  if (secret !== null) sessions.end(secret);
  return new Response(null, { status: 204, headers: { "set-cookie": writeCookie(null, origin, rules.maxAgeMs) } });
}
