/** What the kernel tells about itself while it works: stage marks in order, never truth. A mark that throws is ignored. */
export interface Telemetry {
  readonly mark: (stage: string, detail: { readonly workflow_id?: string; readonly [key: string]: unknown }) => void;
}

/** A logger such as pino or console. */
export interface Logger {
  readonly debug: (detail: object, message?: string) => void;
  readonly info: (detail: object, message?: string) => void;
  readonly warn: (detail: object, message?: string) => void;
  readonly error: (detail: object, message?: string) => void;
}
