/**
 * The basis of a preview: what it was made against, such as the file that a diff begins from. Where an operator names it,
 * it is part of what a person approves: changed meanwhile, the gate is asked again and nothing is called.
 */
import { z } from "zod";
import { digest } from "./digest.ts";

/** One thing that a preview rests on, and the digest of it as it stood. Both are the operator's words. */
export const BasisEntry = z.strictObject({ name: z.string().min(1).max(4096), digest: z.string().min(1).max(256) });
export type BasisEntry = Readonly<z.infer<typeof BasisEntry>>;

/** The records against which a preview was made. */
export const Basis = z.array(BasisEntry).max(1000);
export type Basis = readonly BasisEntry[];

/**
 * What of a gate binds its basis; nothing for a preview that rests on nothing, unless it rested on something before.
 */
export const bindBasis = (basis: Basis, rested = false) =>
  basis.length === 0 && !rested ? {} : { basis: [...basis], basis_digest: digest(basis) };

/** Returns whether both rest on the same, entry by entry. */
export const hasSameBasis = (
  a: { readonly basis_digest?: string | undefined },
  b: { readonly basis_digest?: string | undefined },
): boolean => a.basis_digest === b.basis_digest;
