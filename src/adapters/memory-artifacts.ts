/** The default artifact store: bytes in memory under their digest, the oldest let go above a limit. */
import { sha256 } from "../contract/digest.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";

export function memoryArtifacts(maxArtifacts = 1000): ArtifactStore {
  const kept = new Map<string, Uint8Array>();
  return {
    put(bytes) {
      const file_id = `sha256-${sha256(bytes)}`;
      kept.set(file_id, bytes);
      const [oldest] = kept.keys();
      if (kept.size > maxArtifacts && oldest !== undefined) kept.delete(oldest);
      return { file_id, path: null };
    },
    get: async (fileId) => kept.get(fileId) ?? null,
  };
}
