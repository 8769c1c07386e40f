/**
 * How often a property is tried: as often as its test says, or FC_RUNS times.
 * Owns: the environment's words about properties. `test/properties/setup.ts` tells fast-check the rest.
 */
const { CI, FC_SEED, FC_RUNS } = process.env;

/** A whole number of the environment; undefined where nothing is said. @throws where it is no such number. */
function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`${name}=${text} is no whole number from ${least}`);
  return value;
}

const asked = wholeNumber("FC_RUNS", FC_RUNS, 1);

/** The number of runs for a property that is usually tried so often. */
export const runs = (usual: number): number => asked ?? usual;

/**
 * What a property must have seen more of than this, so as not to hold for nothing; said of the usual number of runs
 * alone.
 */
export const moreThan = (seen: number): number => (asked === undefined ? seen : -1);

/**
 * The same in every run of CI, so that what fails there fails again; another each time elsewhere, so that more is seen.
 */
export const propertySeed = wholeNumber("FC_SEED", FC_SEED, -(2 ** 31)) ?? (CI === undefined ? undefined : 20_260_101);
