/**
 * The file of `guard --tokens`: bearer tokens in YAML or JSON, each for one principal, as the option `tokens` of
 * `createHttpApp` has them.
 *
 * 1.  A file that cannot be read, names a role that the kernel does not know, or has a key that nobody reads, starts
 *     nothing. No message shows a token.
 */
import { z } from "zod";
import type { Caller } from "../../contract/auth-context.ts";
import { PrincipalId, TenantId } from "../../contract/ids.ts";
import { KernelErrorException, messageOf } from "../../contract/kernel-error.ts";
import { readYaml } from "../../protocol/read-yaml.ts";
import { type CommonOptions, callerOf, knownRoles } from "./options.ts";
import { readTextFile, refuseFile } from "./refuse-file.ts";

const Tokens = z.strictObject({
  tokens: z
    .array(
      z.strictObject({
        token: z.string().regex(/^[\w.~+/=-]+$/, "has letters, digits and -._~+/= only"),
        tenant_id: TenantId.optional(),
        principal: z.strictObject({
          type: z.string().min(1).optional(),
          id: PrincipalId,
          role: z.string().min(1).optional(),
        }),
      }),
    )
    .min(1),
});

export type NamedToken = Caller & { readonly token: string };

/** Reads the tokens; what one leaves out is that of the options. @throws KernelErrorException T0_CLI_FILE_INVALID. */
export async function readTokens(path: string, options: CommonOptions): Promise<readonly NamedToken[]> {
  const what = `--tokens ${path}`;
  const read = Tokens.safeParse(await readData(path, what));
  if (!read.success) return refuseFile(what, z.prettifyError(read.error));
  const usual = callerOf(options);
  const named = read.data.tokens.map(({ token, tenant_id, principal: { type, id, role } }) => ({
    token,
    tenant_id: tenant_id ?? usual.tenant_id,
    principal: { type: type ?? usual.principal.type, id, role: role ?? usual.principal.role },
  }));
  const roles = await knownRoles(options);
  for (const [at, { principal }] of named.entries())
    if (roles?.includes(principal.role) === false)
      refuseFile(what, `tokens[${at}]: the role ${principal.role} is unknown; there are ${roles.join(", ")}`);
  const secrets = named.map(({ token }) => token);
  const twice = secrets.findIndex((token, at) => secrets.indexOf(token) !== at);
  return twice < 0 ? named : refuseFile(what, `tokens[${twice}]: the same token stands there before`);
}

async function readData(path: string, what: string): Promise<unknown> {
  const text = readTextFile(path, what);
  try {
    return await readYaml(text);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) throw thrown;
    // Further lines of a parser's message show the text of the file.
    return refuseFile(what, messageOf(thrown).split("\n", 1)[0] ?? "");
  }
}
