/**
 * The host for kernels that use Restate: commands to a workflow are committed here and driven where Restate chooses.
 *
 * Owns: the requests to Restate: a drive for each committed command, one for each due time, and the sweep.
 * Never: keeps an intention that is not in the ledger; takes a workflow from a process that is alive.
 * 1.  A request that is not sent, or is lost with Restate, is found by the sweep: it is delayed, and not lost.
 * 2.  A drive claims its workflow as any other does. If Restate calls a second process while the first is alive, the
 *     second is refused and tried again: no call of the first is put in doubt.
 * 3.  While Restate is unavailable this is logged once, and it is tried again after a second, then ever less often.
 */
import { type KernelError, type KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Host, HostWork, Rested } from "../../ports/host.ts";
import type { TakeUpKind } from "../../ports/ledger-store.ts";
import type { ReadOptions } from "./index.ts";
import { registerDrives } from "./register-drives.ts";
import { DriveSender } from "./send-drives.ts";
import { type DriveServer, serveDrives } from "./serve-drives.ts";
import { workflowObject } from "./workflow-object.ts";

/** The limit on workflows of each kind in one sweep; the others are found once these have moved. */
const maxSwept = 256;
const askAgainMs = 1000;

export class RestateHost implements Host {
  readonly #options: ReadOptions;
  readonly #work: HostWork;
  readonly #sender: DriveSender;
  readonly #running = new Set<Promise<unknown>>();
  #server: DriveServer | null = null;
  #registered = false;
  #stopped = false;
  /** The pause before Restate is asked again; null while it answers. */
  #pauseMs: number | null = null;

  constructor(options: ReadOptions, work: HostWork) {
    this.#options = options;
    this.#work = work;
    this.#sender = new DriveSender({
      ...options,
      onTaken: () => this.#answers(),
      onMissed: (error) => this.#missed(error),
    });
  }

  /** Starts. @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE, T4_DISPATCHER_REFUSED. */
  async start(): Promise<void> {
    const { serve, service } = this.#options;
    const { logger } = this.#work;
    if (serve !== undefined)
      this.#server = await serveDrives([workflowObject(service, (id) => this.#drive(id))], serve, logger);
    await this.#register();
    await this.#sweep();
  }

  readonly dispatch = (workflow_id: string, sequence: number): void =>
    this.#sender.post({ workflow_id, key: `${workflow_id}:${sequence}` });

  /** Asks for a drive at the due time; a workflow that is due already has a drive, or waits for the sweep. */
  rested({ workflow_id, due_at, queued }: Rested): void {
    if (queued && !this.#stopped) this.#serveQueues();
    const delayMs = (due_at ?? 0) - this.#work.clock.now();
    if (due_at === null || delayMs <= 0 || this.#stopped) return;
    this.#sender.post({ workflow_id, key: `${workflow_id}:due:${due_at}`, delayMs });
  }

  /** Does nothing: Restate has noticed the broken connection, and calls another process. */
  freed(): void {}

  stop(): void {
    this.#stopped = true;
    for (const alarm of ["sweep", "queues"]) this.#work.alarm(alarm, null, () => undefined);
    this.#server?.stop();
  }

  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
    await this.#server?.ended();
    await this.#sender.drained();
  }

  async #drive(workflowId: string): Promise<Rested | null> {
    if (this.#stopped)
      raise(kernelError("T0_KERNEL_STOPPED", "the kernel stops", moduleRef(4, "restate_host", "drive")));
    const running = this.#work.drive(workflowId);
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  async #register(): Promise<void> {
    const { register, headers } = this.#options;
    if (register === undefined || this.#registered) return;
    const refused = await registerDrives(register, headers);
    if (refused?.code === "T4_DISPATCHER_REFUSED") raise(refused);
    this.#registered = refused === null;
    if (refused !== null) this.#missed(refused);
  }

  /** Asks for a drive of each free workflow; Restate recognises a repeated request while nothing has changed. */
  async #sweep(): Promise<void> {
    if (this.#pauseMs !== null) this.#pauseMs = Math.min(2 * this.#pauseMs, this.#options.sweepMs);
    this.#armSweep(this.#pauseMs ?? this.#options.sweepMs);
    for (const kind of ["abandoned", "due", "freed"] as const) await this.#post(kind);
    this.#serveQueues();
  }

  async #post(kind: TakeUpKind): Promise<void> {
    for (const { workflow_id, updated_at, due_at } of await this.#work.findFree(kind, maxSwept))
      this.#sender.post({ workflow_id, key: `${workflow_id}:${updated_at}:${due_at ?? ""}:swept` });
  }

  /** Asks for a drive of each workflow whose turn has come in a queue. */
  #serveQueues(): void {
    const failed = (error: unknown): void => this.#work.logger.error({ error }, "queues could not be served");
    const arm = async (): Promise<void> => {
      const at = await this.#work.store.nextAdmission(this.#work.clock.now());
      if (!this.#stopped) this.#work.alarm("queues", at, () => this.#serveQueues());
    };
    this.#post("queued").then(arm).catch(failed);
  }

  #armSweep(inMs: number): void {
    const { alarm, clock, logger } = this.#work;
    if (this.#stopped) return;
    const failed = (error: unknown): void =>
      logger.error({ error }, "what the dispatcher was not told of could not be found");
    const look = (): void =>
      void this.#register()
        .catch(({ error }: KernelErrorException) => this.#missed(error))
        .then(() => this.#sweep())
        .catch(failed);
    alarm("sweep", clock.now() + inMs, look);
  }

  #answers(): void {
    if (this.#pauseMs === null) return;
    this.#pauseMs = null;
    this.#work.logger.info({}, "the dispatcher answers again");
    this.#armSweep(0);
  }

  /** Handles a refusal: Restate may have lost the registration, which is then repeated. */
  #missed(error: KernelError): void {
    if (error.code === "T4_DISPATCHER_REFUSED") this.#registered = false;
    if (this.#pauseMs !== null) return;
    this.#pauseMs = askAgainMs;
    this.#work.logger.error({ error }, "the dispatcher does not take drives");
    this.#armSweep(askAgainMs);
  }
}
