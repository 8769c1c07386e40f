/**
 * Packages that a user installs beside this one: the optional peers of an entry or of a function.
 *
 * Owns: the error that names the command that installs them. Never: hides an error of a package that is installed.
 */
import { kernelError } from "../contract/error-codes.ts";
import { KernelErrorException, messageOf, raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";

/** The user of optional packages, and the packages that it imports. */
export interface Peers {
  /** The name that the error shows, such as `countersign/http`. */
  readonly user: string;
  /** Package names with the versions that fit, as the command line of npm takes them: `hono@4`. */
  readonly packages: readonly string[];
}

/** The code of an error that says which packages are missing. */
const missing = "T0_PACKAGE_MISSING";
const peersRef = moduleRef(0, "peers", "load_peers");

/**
 * Returns the imports of `load`.
 * @throws KernelErrorException T0_PACKAGE_MISSING if one of the packages is not installed. The message contains the
 * command that installs all of them; `detail.packages` lists them.
 */
export async function loadPeers<T>(peers: Peers, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (!isMissing(thrown, peers.packages)) throw thrown;
    return refuse(peers);
  }
}

/**
 * Waits for all of the imports, so that one error names the packages of all that failed.
 * @throws KernelErrorException T0_PACKAGE_MISSING as `loadPeers` does. Any other error is thrown as it is.
 */
export async function loadAllPeers(user: string, loads: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(loads);
  const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  const packages = failures.flatMap(missingIn);
  const other = failures.find((failure) => missingIn(failure).length === 0);
  if (other !== undefined) throw other;
  if (packages.length > 0) refuse({ user, packages: [...new Set(packages)] });
}

function refuse({ user, packages }: Peers): never {
  const command = `npm install ${packages.join(" ")}`;
  const message = `${user} needs packages that are not all installed; this command installs them: ${command}`;
  return raise(kernelError(missing, message, peersRef, { detail: { packages: [...packages] } }));
}

/** Returns the packages that an error of `loadPeers` names, and none for any other error. */
function missingIn(thrown: unknown): readonly string[] {
  const isOurs = thrown instanceof KernelErrorException && thrown.error.code === missing;
  return isOurs ? (thrown.error.detail["packages"] as readonly string[]) : [];
}

/**
 * Returns whether the runtime did not find one of the packages. Node, Bun and Deno all quote its name in the message.
 */
function isMissing(thrown: unknown, packages: readonly string[]): boolean {
  const [, name = ""] = /(?:package|module) ['"]([^'"]+)['"]/.exec(messageOf(thrown)) ?? [];
  const names = packages.map((each) => each.replace(/(?<=.)@.*$/, ""));
  return names.some((each) => name === each || name.startsWith(`${each}/`));
}
