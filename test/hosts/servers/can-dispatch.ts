/** Whether npm brought a Restate server for this system. */
import { existsSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";

export const restateBinary = join(
  import.meta.dirname,
  `../../../node_modules/@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`,
);

export const canDispatch = (): boolean => existsSync(restateBinary);
