/** Randomness: numbers in [0, 1), the only source of them. */
export type Random = () => number;
