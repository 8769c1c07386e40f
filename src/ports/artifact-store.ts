/** The store of inline bytes of tools; Signals hold references only. */
export interface ArtifactStore {
  /** Takes the bytes and names them at once; a store that writes elsewhere may do so later. */
  readonly put: (bytes: Uint8Array, mediaType: string) => { readonly file_id: string; readonly path: string | null };
  /** Gives the bytes of a file; null where there is no such file. */
  readonly get: (fileId: string) => Promise<Uint8Array | null>;
}
