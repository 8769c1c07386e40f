export async function replayTurns(..._args: readonly unknown[]): Promise<never> { throw new Error("not yet"); }
export async function replayRows(..._args: readonly unknown[]): Promise<never> { throw new Error("not yet"); }
