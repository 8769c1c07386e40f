/** The last of numbered things: those from 0 up to it exist, and none behind it. */

/** Returns the last number that exists, -1 if none does. It asks about twice the number of binary digits of it. */
export async function findLast(exists: (nth: number) => Promise<boolean>): Promise<number> {
  let [known, missing] = [-1, 0];
  while (await exists(missing)) [known, missing] = [missing, 2 * missing + 1];
  while (missing - known > 1) {
    const middle = Math.floor((known + missing) / 2);
    if (await exists(middle)) known = middle;
    else missing = middle;
  }
  return known;
}
