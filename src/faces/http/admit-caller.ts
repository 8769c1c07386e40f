/**
 * The checks of every request but those to open addresses: the caller, the origin of its page, and the rate.
 *
 * Owns: the order of these checks, and the allowances. Never: knows a route or a role.
 * 1.  An unknown caller gets 401, and 429 if there are too many; known callers do not wait for unknown ones.
 * 2.  Each caller has an allowance of their own, whatever credential they use.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Authenticated, createAuthentication } from "./authenticate.ts";
import { originOf, requireOwnPage } from "./check-origin.ts";
import type { HttpCaller, ResolvedHttpOptions } from "./http-options.ts";
import { type Allowance, createAllowance, createAllowances, refuseRate } from "./limit-rate.ts";
import { nameOfCaller } from "./name-caller.ts";
import { createSessions, type Sessions } from "./sessions.ts";

export interface Admission {
  /** @throws KernelErrorException T5_AUTHN_FAILED, T5_CSRF_REJECTED, T0_HTTP_RATE_LIMIT. */
  readonly admit: (request: Request) => Promise<Authenticated>;
  /**
   * Uses one more request of the caller's allowance: one HTTP request may hold several. @throws KernelErrorException
   * T0_HTTP_RATE_LIMIT.
   */
  readonly spend: (caller: HttpCaller) => void;
  /** The allowance for failed calls of unknown callers. */
  readonly failures: Allowance;
  /** The sessions; null if the host offers none. */
  readonly sessions: Sessions | null;
  readonly ownOrigin: (request: Request) => string;
  /** Makes a static token invalid from now on. False if there is no such token. */
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

/** Refuses a request without a credential; it guesses nothing, so it uses no allowance. */
function refuseNobody({ headers }: Request, failures: Allowance): never {
  const isGuess = headers.has("authorization") || headers.has("cookie");
  if (isGuess && !failures.take()) refuseRate("maxFailedCallsPerSecond");
  return raise(kernelError("T5_AUTHN_FAILED", "the caller is not known here", moduleRef(0, "http", "route")));
}
