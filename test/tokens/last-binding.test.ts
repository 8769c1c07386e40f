/** A token is bound to one capability: the one it was bound to last. */
import { describe, expect, it } from "vitest";
import { withCapability } from "../../src/index.ts";
import { detailOf, draft, kindsOf, open } from "./kernels.ts";

describe("binding again", () => {
  it("[TOK-10] the later handle stands, and the token counts for it alone", () => {
    const kernel = open();
    const search = kernel.registerCapability("search", { max_invocations: 0 });
    const read = kernel.registerCapability("read", { max_invocations: 1 });
    const bound = withCapability(withCapability(draft(), search), read);
    expect(bound.capability).toBe(read);
    const id = kernel.submitToken(bound);
    kernel.run();
    expect(kindsOf(kernel, id)).toEqual(["scheduled", "started", "completed"]);
    expect(detailOf(kernel, id, "started")).toMatchObject({ capability_handle: read, capability_name: "read" });
    expect(kernel.capabilities().map(({ name, usage }) => [name, usage.invocations])).toEqual([
      ["search", 0],
      ["read", 1],
    ]);
  });
});
