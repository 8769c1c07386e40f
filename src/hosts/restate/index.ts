/**
 * Restate as a dispatcher of drives: it says which of many kernels drives a workflow, holds back what would be too much,
 * wakes what falls due, and tries again where a kernel has died. The ledger stays the truth; all kernels share one.
 *
 * Owns: the options and what they are when absent.
 * Neighbours: restate-host.ts is the host, workflow-object.ts the object that Restate calls, serve-drives.ts where it is
 * reached, send-drives.ts how drives are asked for.
 */
import { z } from "zod";
import { type KeysOf, readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Host, HostWork } from "../../ports/host.ts";
import { RestateHost } from "./restate-host.ts";

/** Where Restate reaches this process. */
export interface DriveAddress {
  /** Where it listens, HTTP/2 without TLS. */
  readonly port: number;
  /** `127.0.0.1` when absent: what comes without one of `identityKeys` is anybody's who can connect. */
  readonly host?: string;
  /** Public keys of the Restate clusters whose requests are answered (`publickeyv1_…`). */
  readonly identityKeys?: readonly string[];
}

/** Makes the drives known to Restate when the kernel starts. */
export interface DriveRegistration {
  /** Restate's admin API, such as `http://127.0.0.1:9070`. */
  readonly admin: string;
  /** Where Restate reaches those who serve drives: of all kernels the same, that of their balancer. */
  readonly uri: string;
}

/** Which Restate, and what this process does for it. */
export interface RestateHostOptions {
  /** Where requests enter Restate, such as `http://127.0.0.1:8080`. */
  readonly ingress: string;
  /** Sent with each request to Restate, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: this process takes requests and decisions, and drives nothing. */
  readonly serve?: DriveAddress;
  /** Absent: it is done by hand, with `restate deployments register`. */
  readonly register?: DriveRegistration;
  /** The object's name in Restate, `countersign.workflow` when absent; ledgers that share a Restate have names of their own. */
  readonly service?: string;
  /** How often the ledger is looked through for what Restate was not told of, in ms; a minute when absent. */
  readonly sweepMs?: number;
}

const url = z.url({ protocol: /^https?$/, error: "must be an http address" });
const headers = z.record(z.string(), z.string());

const Options = z.strictObject({
  ingress: url,
  headers: headers.default({}),
  serve: z
    .strictObject({
      port: z.int().min(1).max(65_535),
      host: z.string().min(1).default("127.0.0.1"),
      identityKeys: z.array(z.string().startsWith("publickeyv1_")).default([]),
    } satisfies KeysOf<DriveAddress>)
    .optional(),
  register: z.strictObject({ admin: url, uri: url } satisfies KeysOf<DriveRegistration>).optional(),
  service: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "must be letters, digits and _.-")
    .default("countersign.workflow"),
  sweepMs: z.int().min(100).default(60_000),
} satisfies KeysOf<RestateHostOptions>);

/** Options with what stands for those that are absent. */
export type ReadOptions = z.output<typeof Options>;

/**
 * For the option `host` of `createKernel`.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options; createKernel then rejects with
 *   T0_HTTP_ADDRESS_UNAVAILABLE or T4_DISPATCHER_REFUSED where drives cannot be served or registered.
 */
export function restateHost(options: RestateHostOptions): (work: HostWork) => Host {
  const read = readStrictly(Options, options, {
    what: "restateHost",
    source: moduleRef(4, "restate_host", "restateHost"),
  });
  return (work) => new RestateHost(read, work);
}
