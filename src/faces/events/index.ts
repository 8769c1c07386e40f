/** The entry `countersign/events`: receives events over HTTP, as CloudEvents and as signed webhooks. @module */
export { createEventReceiver, type EventReceiver } from "./create-event-receiver.ts";
export { defaultEventLimits, type EventLimits, type EventReceiverOptions } from "./event-options.ts";
