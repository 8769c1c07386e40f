/** The pictures of the console are those of its present sources, and small. `npm run screens` takes them again. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOfScreens, mostScreenBytes, screenFolder, screenSizes } from "./screen-sources.ts";

const names = readdirSync(screenFolder).filter((name) => name.endsWith(".webp"));

describe("visualizations/screens", () => {
  it("is made of the present sources of the console: run npm run screens", () => {
    const { digest } = JSON.parse(readFileSync(join(screenFolder, "sources.json"), "utf8")) as {
      readonly digest: string;
    };
    expect(digest).toBe(digestOfScreens());
  });

  it("has each view at each size, in pictures of at most 60 kB", () => {
    const views = new Set(names.map((name) => name.replace(/-\d+x\d+\.webp$/, "")));
    expect(views.size).toBeGreaterThan(8);
    for (const view of views)
      for (const [width, height] of screenSizes)
        expect(existsSync(join(screenFolder, `${view}-${width}x${height}.webp`)), view).toBe(true);
    const large = names.filter((name) => statSync(join(screenFolder, name)).size > mostScreenBytes);
    expect(large).toEqual([]);
  });
});
