/**
 * Sessions over streamable HTTP, for clients of 2025-11-25 and before: one server and one transport each.
 *
 * 1.  A session is its caller's, with the scopes it was begun with; for any other caller it does not exist.
 * 2.  There are at most `maxSessions`, with a limit for one principal that leaves places for others; one that is idle
 *     for `sessionIdleMs` is ended. An ended one leaves no timer.
 * 3.  The end of a session ends nothing that it began: workflows continue.
 * 4.  A client whose connection broke resumes a stream after the last event that it received (session-events.ts). One
 *     that does not keep up with a stream is cut off, and may resume it.
 */
import {
  isInitializeRequest,
  isJSONRPCRequest,
  type RequestId,
  type Server,
  WebStandardStreamableHTTPServerTransport as Transport,
} from "@modelcontextprotocol/server";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import { canonicalJson } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { boundedStream } from "../../protocol/bounded-stream.ts";
import { endingStream } from "../../protocol/ending-stream.ts";
import { ownerOf, type ResolvedMcpOptions } from "./mcp-options.ts";
import { type KeptSize, SessionEvents } from "./session-events.ts";

/** The server of one session. */
export interface SessionServer extends Pick<Server, "connect" | "close" | "onclose"> {
  /** Receives the end of the stream of a request: `isWhole` says whether the client took it to the end. */
  readonly endAnswer?: (id: RequestId, isWhole: boolean) => void;
}

interface Session {
  readonly key: string;
  readonly owner: string;
  readonly server: SessionServer;
  readonly transport: Transport;
  readonly events: SessionEvents;
  /** Requests under way, and answers that are still being read. */
  busy: number;
  cancelTimer: () => void;
}

export interface McpSessions {
  /**
   * Answers a request. @throws KernelErrorException T0_MCP_SESSION_UNKNOWN, T0_MCP_(CALLER_)SESSION_LIMIT, or for a
   * request outside any session.
   */
  readonly answer: (request: Request, caller: ScopedCaller, parsedBody: unknown) => Promise<Response>;
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

const sessionRef = moduleRef(0, "mcp", "session");

/** The time after which a client whose stream broke is asked to connect again. */
const reconnectMs = 1_000;

/** Returns the name of a session's owner. */
const keyOf = ({ tenant_id, principal, scopes }: ScopedCaller): string =>
  canonicalJson([
    tenant_id,
    principal.type,
    principal.id,
    principal.role,
    scopes === undefined ? null : [...scopes].sort(),
  ]);

export function createSessions(
  options: ResolvedMcpOptions,
  open: (caller: ScopedCaller) => SessionServer,
): McpSessions {
  const sessions = new Map<string, Session>();
  const kept: KeptSize = { chars: 0 };
  const { limits, clock } = options;

  function rest(session: Session): void {
    session.cancelTimer();
    const at = clock.now() + limits.sessionIdleMs;
    const end = (): unknown => (session.busy === 0 ? session.server.close() : rest(session));
    session.cancelTimer = clock.setTimer(at, () => void end(), true);
  }

  async function begin(caller: ScopedCaller): Promise<Session> {
    const owner = ownerOf(caller);
    requirePlace([...sessions.values()], owner, limits);
    const server = open(caller);
    const { id, ...channel } = makeChannel(kept, limits);
    const session: Session = { ...channel, server, key: keyOf(caller), owner, busy: 0, cancelTimer: () => undefined };
    const closed = server.onclose;
    server.onclose = () => {
      session.cancelTimer();
      sessions.delete(id);
      channel.events.clear();
      closed?.();
    };
    // The place is taken at once, so that simultaneous requests find it taken.
    sessions.set(id, session);
    await server.connect(channel.transport);
    return session;
  }

  function leave(session: Session): void {
    session.busy -= 1;
    if (isOpen(sessions, session)) rest(session);
  }

  async function answerIn(session: Session, request: Request, parsedBody: unknown): Promise<Response> {
    session.busy += 1;
    session.cancelTimer();
    let response: Response | undefined;
    try {
      response = await session.transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody });
      if (response.body === null) return response;
      const onEnd = (isWhole: boolean): void => {
        endAnswers(session, { request, parsedBody }, isWhole);
        leave(session);
      };
      return new Response(endingStream(boundedStream(response.body), { onEnd }), response);
    } finally {
      if (response?.body == null) leave(session);
    }
  }

  return {
    async answer(request, caller, parsedBody) {
      const id = request.headers.get("mcp-session-id");
      if (id !== null) return answerIn(findSession(sessions, id, caller), request, parsedBody);
      if (!isInitializeRequest(parsedBody)) return refuseStranger();
      const session = await begin(caller);
      const response = await answerIn(session, request, parsedBody);
      if (!response.ok) await session.server.close();
      return response;
    },
    count: () => sessions.size,
    close: async () => void (await Promise.all([...sessions.values()].map(({ server }) => server.close()))),
  };
}

function makeChannel(kept: KeptSize, { maxBodyBytes: maxRequestBodySize }: ResolvedMcpOptions["limits"]) {
  const id = crypto.randomUUID();
  const events = new SessionEvents(kept);
  const own = { sessionIdGenerator: () => id, maxRequestBodySize };
  return { id, events, transport: new Transport({ ...own, eventStore: events, retryInterval: reconnectMs }) };
}

interface Asked {
  readonly request: Request;
  readonly parsedBody: unknown;
}

/** Records the end of the answers in a response: those of its own request, or of the stream that it resumes. */
function endAnswers({ events, server }: Session, { request, parsedBody }: Asked, isWhole: boolean): void {
  const resumed = events.answeredIn(request.headers.get("last-event-id") ?? "");
  for (const id of isJSONRPCRequest(parsedBody) ? [parsedBody.id] : resumed) server.endAnswer?.(id, isWhole);
}

const isOpen = (sessions: ReadonlyMap<string, Session>, session: Session): boolean =>
  sessions.get(session.transport.sessionId ?? "") === session;

function findSession(sessions: ReadonlyMap<string, Session>, id: string, caller: ScopedCaller): Session {
  const session = sessions.get(id);
  if (session !== undefined && session.key === keyOf(caller)) return session;
  return raise(kernelError("T0_MCP_SESSION_UNKNOWN", "there is no such session", sessionRef));
}

function requirePlace(
  open: readonly Session[],
  owner: string,
  { maxSessions, maxSessionsPerCaller }: ResolvedMcpOptions["limits"],
): void {
  if (open.length >= maxSessions) refuseMore(maxSessions);
  const own = open.filter((session) => session.owner === owner);
  if (own.length >= maxSessionsPerCaller) refuseCaller(maxSessionsPerCaller);
}

const refuseStranger = (): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the request names no session and begins none", sessionRef));

const refuseMore = (maxSessions: number): never =>
  raise(
    kernelError("T0_MCP_SESSION_LIMIT", `${maxSessions} sessions are open, as many as may be`, sessionRef, {
      detail: { maxSessions },
    }),
  );

const refuseCaller = (maxSessionsPerCaller: number): never =>
  raise(
    kernelError("T0_MCP_CALLER_SESSION_LIMIT", `${maxSessionsPerCaller} sessions of this caller are open`, sessionRef, {
      detail: { maxSessionsPerCaller },
    }),
  );
