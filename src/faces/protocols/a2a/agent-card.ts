/**
 * The agent card: who answers here, how a caller identifies themselves, and the capabilities as skills.
 *
 * 1.  Strangers read no capability unless the host says that they may; a caller who may submit reads all of them, with
 *     the schemas of their inputs.
 */
import { describeCapability, type Kernel } from "../../../index.ts";
import type { A2aOptions } from "./a2a-options.ts";

/** The extension by which the card gives the schemas of its skills, and messages name a skill. */
export const skillsExtension = "urn:countersign:a2a:skills:1";

interface Skills {
  readonly skills: readonly object[];
  readonly schemas: Readonly<Record<string, object>>;
}

/** Returns the newest version of each registered capability. */
function skillsOf(kernel: Kernel): Skills {
  const names = [...new Set(kernel.capabilities().map(({ intentType }) => intentType))].sort();
  const found = names.map((name) => describeCapability(kernel.getCapability(name), () => null));
  const skills = found.map(({ intent_type, version, description, keywords }) => ({
    id: intent_type,
    name: `${intent_type} ${version}`,
    description: description === "" ? `Runs ${intent_type}.` : description,
    tags: keywords,
    inputModes: ["application/json", "text/plain"],
    outputModes: ["application/json", "text/plain"],
  }));
  const schemas = found.map(({ intent_type, input, outcomes }) => [intent_type, { input, outcomes }] as const);
  return { skills, schemas: Object.fromEntries(schemas) };
}

const noSkills: Skills = { skills: [], schemas: {} };
const anyMode = ["application/json", "text/plain"] as const;

/** Returns the card; `url` is the address of the agent, `showsSkills` whether its reader may know the capabilities. */
export function agentCard(kernel: Kernel, options: A2aOptions, { url, showsSkills }: CardReader): object {
  const { name, description, version, push, securitySchemes } = options;
  const { skills, schemas } = showsSkills ? skillsOf(kernel) : noSkills;
  return {
    name,
    description,
    version,
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: {
      streaming: true,
      pushNotifications: push !== undefined,
      extendedAgentCard: true,
      extensions: [
        {
          uri: skillsExtension,
          description: "A message names its skill in metadata, as countersign/skill; a part of data has the inputs.",
          required: false,
          params: { skills: schemas },
        },
      ],
    },
    securitySchemes,
    securityRequirements: Object.keys(securitySchemes).map((scheme) => ({ schemes: { [scheme]: { list: [] } } })),
    defaultInputModes: anyMode,
    defaultOutputModes: anyMode,
    skills,
  };
}

interface CardReader {
  readonly url: string;
  readonly showsSkills: boolean;
}
