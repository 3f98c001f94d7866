/** The layers of docs/architecture.md: imports run downwards only. */
const layers = [
  ["kernel", []],
  ["crypto", ["kernel"]],
  ["policy", ["kernel"]],
  ["chains", ["crypto", "kernel"]],
  ["authority", ["policy", "crypto", "kernel"]],
  ["storage", ["kernel"]],
  ["signer", ["crypto", "kernel"]],
  ["delivery", ["kernel"]],
  ["nodes", ["chains", "delivery", "crypto", "kernel"]],
  ["providers", ["delivery", "crypto", "kernel"]],
  ["engine", ["authority", "nodes", "providers", "signer", "storage", "policy", "chains", "crypto", "delivery", "kernel"]],
  ["capabilities", ["engine", "authority", "nodes", "providers", "signer", "storage", "policy", "chains", "crypto", "delivery", "kernel"]],
  ["http", ["engine", "storage", "signer", "kernel"]],
  ["client", ["crypto", "kernel", "capabilities"]],
];

module.exports = {
  forbidden: [
    ...layers.map(([layer, below]) => ({
      name: `${layer}-imports-downwards`,
      severity: "error",
      from: { path: `^src/${layer}/` },
      to: { path: "^src/", pathNot: `^src/(${[layer, ...below].join("|")})/` },
    })),
    {
      name: "capabilities-share-models-and-stores",
      comment: "A capability uses another one's model or store, never its operations.",
      severity: "error",
      from: { path: "^src/capabilities/([^/]+)/" },
      to: { path: "^src/capabilities/([^/]+)/", pathNot: "^src/capabilities/($1/|[^/]+/(model|store)\\.ts$)" },
    },
    {
      name: "clients-load-nothing-of-the-server",
      comment: "A client knows the declarations by their types alone.",
      severity: "error",
      from: { path: "^src/client/" },
      to: { path: "^src/capabilities/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "plaintext-keys-stay-in-the-signer",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/signer/process/" },
      to: { path: "^src/signer/process/" },
    },
    {
      name: "libsecp256k1-or-nothing",
      comment: "The package falls back to an implementation in JavaScript; src/crypto/secp256k1.ts loads its binding alone.",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/crypto/secp256k1\\.ts$", "\\.test\\.ts$"] },
      to: { path: "node_modules/(@types/)?secp256k1/" },
    },
    { name: "no-cycles", severity: "error", from: { path: "^src/" }, to: { circular: true } },
    { name: "product-without-tests", severity: "error", from: { path: "^src/", pathNot: "\\.test\\.ts$" }, to: { path: "^(test|bench)/" } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { extensions: [".ts", ".js"] },
  },
};
