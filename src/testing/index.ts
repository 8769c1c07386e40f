/**
 * Tools for tests of the library's users: virtual time, seeds, a kernel to inspect, and the suites of the ports.
 * @module
 */
export { seededRandom } from "../adapters/seeded-random.ts";
export { callOperator, type OperatorTrial, type OperatorTrialResult, trialContext } from "./call-operator.ts";
export { type LedgerStoreSuite, ledgerStoreSuite } from "./ledger-store-suite.ts";
export { letRun, letStoreAnswer } from "./let-run.ts";
export { memoryLedger } from "./memory-ledger.ts";
export { type OperatorContract, operatorContract } from "./operator-contract.ts";
export { createTestKernel, type Mark, type TestKernel, type TestKernelOptions, testCaller } from "./test-kernel.ts";
export { createVirtualClock, type VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
