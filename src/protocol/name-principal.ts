/** A principal as text. */

/** Returns the type and the id of a principal, as in `user ann`; the id alone if no type is known. */
export const namePrincipal = ({
  type,
  id,
}: {
  readonly type?: string | undefined;
  readonly id: string | number;
}): string => (type === undefined ? String(id) : `${type} ${id}`);
