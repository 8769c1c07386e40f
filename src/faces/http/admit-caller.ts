/**
 * What every request but those to open addresses passes: who it is, whether its page may ask, and how often.
 *
 * Owns: the order of these questions, and the allowances. Never: knows a route or a role.
 * 1.  Who is not known is told so (401), and when too many are, to wait (429); known callers do not wait for strangers.
 * 2.  Each caller has an allowance of their own, whatever credential they come with.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { createAuthentication, type Known } from "./authenticate.ts";
import { originOf, requireOwnPage } from "./check-origin.ts";
import type { HttpCaller, ResolvedHttpOptions } from "./http-options.ts";
import { type Allowance, createAllowance, createAllowances, refuseRate } from "./limit-rate.ts";
import { nameOfCaller } from "./name-caller.ts";
import { createSessions, type Sessions } from "./sessions.ts";

export interface Admission {
  /** @throws KernelErrorException T5_AUTHN_FAILED, T5_CSRF_REJECTED, T0_HTTP_RATE_LIMIT. */
  readonly admit: (request: Request) => Promise<Known>;
  /** Takes one more of the caller's allowance: a request may hold several. @throws KernelErrorException T0_HTTP_RATE_LIMIT. */
  readonly spend: (caller: HttpCaller) => void;
  /** For calls of nobody known that failed. */
  readonly failures: Allowance;
  /** Null where the host offers none. */
  readonly sessions: Sessions | null;
  readonly ownOrigin: (request: Request) => string;
  /** A static token is nobody's from now on. False where there is no such token. */
  readonly revoke: (token: string) => boolean;
}

export function createAdmission(options: ResolvedHttpOptions): Admission {
  const { limits, clock, origin } = options;
  const failures = createAllowance(
    { perSecond: limits.maxFailedCallsPerSecond, burst: limits.maxFailedCallBurst },
    clock.now,
  );
  const callers = createAllowances(
    { perSecond: limits.maxRequestsPerSecond, burst: limits.maxRequestBurst },
    limits.maxTrackedCallers,
    clock.now,
  );
  const sessions = openSessions(options);
  const ownOrigin = (request: Request): string => originOf(request, origin);
  const { authenticate, revoke } = createAuthentication(options, { sessions, failures, ownOrigin });
  const spend = (caller: HttpCaller): void => {
    if (!callers.take(nameOfCaller(caller))) refuseRate("maxRequestsPerSecond");
  };
  return {
    spend,
    failures,
    sessions,
    ownOrigin,
    revoke,
    async admit(request) {
      const known = (await authenticate(request)) ?? refuseNobody(request, failures);
      if (known.proof !== null) requireOwnPage(request, known.proof, ownOrigin(request));
      spend(known.caller);
      return known;
    },
  };
}

function openSessions({ sessions, limits, clock }: ResolvedHttpOptions): Sessions | null {
  if (sessions === undefined) return null;
  const { maxLoginCodes: maxCodes, maxSessions } = limits;
  return createSessions({ ...sessions, maxCodes, maxSessions }, sessions.store, clock);
}

/** Who shows nothing guesses nothing, and costs nothing but the answer. */
function refuseNobody({ headers }: Request, failures: Allowance): never {
  const isGuess = headers.has("authorization") || headers.has("cookie");
  if (isGuess && !failures.take()) refuseRate("maxFailedCallsPerSecond");
  return raise(kernelError("T5_AUTHN_FAILED", "the caller is not known here", moduleRef(0, "http", "route")));
}
