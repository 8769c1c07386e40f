/**
 * The seeds from which on stories draw what was added later: stories of lower seeds stay as they were.
 *
 * 1.  What is added takes a base above all seeds that have been played, or shares the newest base until that is played.
 */
export const drawBases = {
  /** Steps that sleep or fail by the plan's choice, conditions, joins that wait for any end, limits of a package. */
  lifecycle: 900_001,
  /** Orders of people: pause and resume, halt and lift. */
  orders: 1_000_001,
  /** Steps that wait for events from outside, and events before, during and after their waits. */
  waits: 1_000_001,
  /** Steps that run a child workflow. */
  children: 1_000_001,
  /** Questions to people. */
  asks: 1_000_001,
  /** Steps that add steps: a list of items, or rounds. */
  growth: 1_100_001,
  /** Steps that can be undone, pivots, cancellations that ask for the undo. */
  undo: 1_200_001,
  /** Queues in which workflows and their children wait for a place. */
  queues: 1_300_001,
  /** Forks and rollbacks, in stories that are kept short, and what happens after all work has ended. */
  forks: 1_400_001,
  /** Gates that ask one group after another, or one of each. */
  stages: 1_400_001,
  /** Rates, singletons, rooms for those who wait, and limits that a person sets. */
  queueLimits: 1_400_001,
  /** Waits with one-time addresses and reminders. */
  tokens: 1_400_001,
  /** Messages of people to work under way. */
  messages: 1_400_001,
  /** Approvals that people give ahead. */
  grants: 1_500_001,
  /** Schedules, and requests that wait for newer ones of their key. */
  schedules: 1_600_001,
  /** Several decisions in one request, stand-ins, few places, work that other processes drive, forks of children. */
  desk: 1_700_001,
} as const;
