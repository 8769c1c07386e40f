/** The part of an address after `?`, by which a view says which items of a list it shows and in which order. */

/** The members of an address as texts; empty: the default. */
export type AddressQuery<Name extends string> = Readonly<Record<Name, string>>;

export function readAddressQuery<Name extends string>(names: readonly Name[], query: string): AddressQuery<Name> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ""])) as AddressQuery<Name>;
}

/** Returns the members that have a value, in the order of the names. */
export const givenMembers = <Name extends string>(
  names: readonly Name[],
  query: AddressQuery<Name>,
): readonly (readonly [Name, string])[] =>
  names.flatMap((name) => (query[name].trim() === "" ? [] : [[name, query[name]] as const]));

/** Returns the address of a view with these members. */
export const hrefWith = (view: string, given: readonly (readonly [string, string])[]): string =>
  given.length === 0 ? view : `${view}?${new URLSearchParams(given.map(([name, value]) => [name, value]))}`;
