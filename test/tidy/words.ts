/** Words that the kernel rooms must not know, each as it is searched for: whole words, in any case. */

/** Of the seeds' examples. "Admission" is none: it is this field's word for what T5 does with a token. */
export const exampleWords = ["funding", "professor", "email", "student", "salesforce", "gmail"] as const;

/** Of the ready-made packages. */
export const packageWords = ["release notes?", "changelog", "conventional commits?", "git"] as const;

/** Systems that an adapter or an operator speaks to. */
export const vendorWords = [
  "openai",
  "anthropic",
  "claude",
  "chatgpt",
  "gpt-\\w+",
  "gemini",
  "mistral",
  "ollama",
  "hugging ?face",
  "langchain",
  "langgraph",
  "langfuse",
  "vertex ai",
  "bedrock",
  "slack",
  "microsoft",
  "outlook",
  "google",
  "aws",
  "amazon",
  "azure",
  "github",
  "gitlab",
  "bitbucket",
  "jira",
  "confluence",
  "notion\\.so",
  "hubspot",
  "stripe",
  "twilio",
  "sendgrid",
  "mailchimp",
  "zendesk",
  "servicenow",
  "discord",
  "telegram",
  "whatsapp",
  "datadog",
  "sentry",
  "okta",
  "auth0",
  "pinecone",
  "weaviate",
  "temporal\\.io",
  "salesforce",
  "gmail",
  "postgres(ql)?",
  "mysql",
  "mongodb",
  "redis",
  "kafka",
  "restate",
] as const;

/** How prompts begin. */
export const promptWords = [
  "you are an?",
  "your task is",
  "act as an?",
  "system prompt",
  "as an ai",
  "step by step",
  "tone of voice",
] as const;

/** How retrieval is done. A host that is embedding the kernel is none of it. */
export const retrievalWords = [
  "embeddings",
  "embedding (vector|model)s?",
  "cosine",
  "tf-?idf",
  "bm25",
  "vector (store|search|index)",
  "nearest neighbou?rs?",
  "chunk overlap",
] as const;

/** How a page is drawn. */
export const interfaceWords = [
  "<div",
  "<span",
  "<button",
  "classname=",
  "innerhtml",
  "queryselector",
  "stylesheet",
  "react",
] as const;

export const wordPattern = (word: string): RegExp => new RegExp(`(?<![A-Za-z0-9_])(?:${word})(?![A-Za-z0-9_])`, "gi");
