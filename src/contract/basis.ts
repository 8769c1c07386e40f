/**
 * The basis of a preview: what the preview was made against, such as the file that a diff applies to. If an operator
 * names a basis, a person approves it as well: if it has changed since, the gate asks again and no call is made.
 */
import { z } from "zod";
import { digest } from "./digest.ts";

/** One thing that a preview depends on, and its digest at that time. The operator chooses both. */
export const BasisEntry = z.strictObject({ name: z.string().min(1).max(4096), digest: z.string().min(1).max(256) });
export type BasisEntry = Readonly<z.infer<typeof BasisEntry>>;

/** The records against which a preview was made. */
export const Basis = z.array(BasisEntry).max(1000);
export type Basis = readonly BasisEntry[];

/**
 * Returns the members that bind a gate to its basis: the basis and its digest. A preview without a basis has none,
 * unless an earlier preview of the gate had one.
 */
export const bindBasis = (basis: Basis, rested = false) =>
  basis.length === 0 && !rested ? {} : { basis: [...basis], basis_digest: digest(basis) };

/** Returns whether two bases are equal, entry by entry. */
export const hasSameBasis = (
  a: { readonly basis_digest?: string | undefined },
  b: { readonly basis_digest?: string | undefined },
): boolean => a.basis_digest === b.basis_digest;
