/**
 * Loaded by `dev` before the program that serves.
 *
 * 1.  Programs of the folder find this Countersign and its packages (resolve-own.ts).
 * 2.  The process ends in order when the one that began it is gone.
 */
import { resolveOwnPackages } from "./resolve-own.ts";

resolveOwnPackages();
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
// The channel to the first process is no reason to stay.
process.channel?.unref();
