/**
 * `npm run bench:guard-many`: a thousand writing calls at once through `countersign guard`, over HTTP from many
 * sessions and over stdio: the time to the last answer, and the memory of the guard.
 *
 * Environment: CALLS (1000), SESSIONS (10).
 */
import { callMany } from "../guard/call-many.ts";

const calls = Number(process.env["CALLS"] ?? 1000);
const sessions = Number(process.env["SESSIONS"] ?? 10);

for (const face of ["http", "stdio"] as const) {
  const { answers, called, elapsedMs, peakMb, residentMb } = await callMany({ face, calls, sessions });
  const own = answers.filter((answer, n) => answer === `called act ${n}`).length;
  process.stdout.write(
    `${face}: ${calls} calls, ${own} with their own answer, ${called.length} made, ` +
      `${(elapsedMs / 1000).toFixed(1)} s, ` +
      `${residentMb} MB resident, ${peakMb} MB at most\n`,
  );
}
