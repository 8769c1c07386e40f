import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    setupFiles: process.env["REPLAY"] === "1" ? ["test/replay/setup.ts"] : [],
    reporters: process.env["CI"] ? ["default"] : ["dot"],
  },
});
