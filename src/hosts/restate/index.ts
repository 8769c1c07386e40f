/**
 * Restate as a dispatcher of drives: it chooses which of many kernels drives a workflow, limits the load, wakes due
 * workflows, and tries again if a kernel has died. The ledger is authoritative; all kernels share one.
 *
 * Owns: the options and their defaults. Neighbours: restate-host.ts is the host, workflow-object.ts the object that
 * Restate calls, serve-drives.ts the server for it, send-drives.ts the requests for drives.
 */
import { z } from "zod";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Host, HostWork } from "../../ports/host.ts";
import { RestateHost } from "./restate-host.ts";

const url = z.url({ protocol: /^https?$/, error: "must be an http address" });

const Serve = z.strictObject({
  /** The port to listen on, HTTP/2 without TLS. */
  port: z.int().min(1).max(65_535),
  /**
   * The host to listen on, `127.0.0.1` by default: without `identityKeys`, anybody who can connect may send requests.
   */
  host: z.string().min(1).default("127.0.0.1"),
  /** Public keys of the Restate clusters whose requests are answered (`publickeyv1_…`). */
  identityKeys: z.array(z.string().startsWith("publickeyv1_")).readonly().default([]),
});
/** The address at which Restate reaches this process. */
export interface DriveAddress extends Readonly<z.input<typeof Serve>> {}

const Register = z.strictObject({
  /** The address at which Restate reaches the kernels that serve drives: the same for all, that of their balancer. */
  admin: url,
  /** The address at which Restate reaches the kernels that serve drives: the same for all, that of their balancer. */
  uri: url,
});
/** Makes the drives known to Restate when the kernel starts. */
export interface DriveRegistration extends Readonly<z.input<typeof Register>> {}

const Options = z.strictObject({
  /** The address of Restate's ingress, such as `http://127.0.0.1:8080`. */
  ingress: url,
  /** Sent with each request to Restate, such as `authorization`. */
  headers: z.record(z.string(), z.string()).default({}),
  /** The address for drives; if it is absent, this process accepts requests and decisions, and drives nothing. */
  serve: Serve.optional(),
  /** Absent: it is done by hand, with `restate deployments register`. */
  register: Register.optional(),
  /**
   * The object's name in Restate, `countersign.workflow` by default; ledgers that share a Restate have different names.
   */
  service: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "must be letters, digits and _.-")
    .default("countersign.workflow"),
  /**
   * The interval at which the ledger is searched for workflows that Restate does not know of, in ms; a minute by
   * default.
   */
  sweepMs: z.int().min(100).default(60_000),
});
/** The options: which Restate is used, and the tasks of this process. */
export interface RestateHostOptions extends Readonly<z.input<typeof Options>> {}

/** The options with their defaults filled in. */
export type ReadOptions = z.output<typeof Options>;

/**
 * Makes the value of the option `host` of `createKernel`.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options; createKernel then rejects with
 * T0_HTTP_ADDRESS_UNAVAILABLE or T4_DISPATCHER_REFUSED if drives cannot be served or registered.
 */
export function restateHost(options: RestateHostOptions): (work: HostWork) => Host {
  const read = readStrictly(Options, options, {
    what: "restateHost",
    source: moduleRef(4, "restate_host", "restateHost"),
  });
  return (work) => new RestateHost(read, work);
}
