/** Every check, in the order of the report. */
import type { Check } from "./check.ts";
import abstention from "./checks/abstention.ts";
import artifacts from "./checks/artifacts.ts";
import auditChain from "./checks/audit-chain.ts";
import binaryFreshness from "./checks/binary-freshness.ts";
import bitemporal from "./checks/bitemporal.ts";
import configuration from "./checks/configuration.ts";
import connection from "./checks/connection.ts";
import consolidation from "./checks/consolidation.ts";
import corpus from "./checks/corpus.ts";
import databaseUrl from "./checks/database-url.ts";
import decayAnchor from "./checks/decay-anchor.ts";
import embeddingCoverage from "./checks/embedding-coverage.ts";
import embeddingDim from "./checks/embedding-dim.ts";
import extensions from "./checks/extensions.ts";
import generativeLlm from "./checks/generative-llm.ts";
import gpu from "./checks/gpu.ts";
import graphConnectivity from "./checks/graph-connectivity.ts";
import httpPort from "./checks/http-port.ts";
import locale from "./checks/locale.ts";
import machine from "./checks/machine.ts";
import migrations from "./checks/migrations.ts";
import mode from "./checks/mode.ts";
import nliEntailment from "./checks/nli-entailment.ts";
import onnxModel from "./checks/onnx-model.ts";
import orTsquery from "./checks/or-tsquery.ts";
import owner from "./checks/owner.ts";
import rbac from "./checks/rbac.ts";
import reranker from "./checks/reranker.ts";
import resourcePlan from "./checks/resource-plan.ts";
import runtimeRole from "./checks/runtime-role.ts";
import schema from "./checks/schema.ts";
import secretFiles from "./checks/secret-files.ts";
import sessionHook from "./checks/session-hook.ts";
import vectorSigns from "./checks/vector-signs.ts";

export const checks: readonly Check[] = [
  mode,
  databaseUrl,
  configuration,
  owner,
  httpPort,
  machine,
  resourcePlan,
  connection,
  extensions,
  locale,
  migrations,
  schema,
  orTsquery,
  onnxModel,
  gpu,
  reranker,
  nliEntailment,
  generativeLlm,
  embeddingDim,
  embeddingCoverage,
  abstention,
  vectorSigns,
  bitemporal,
  decayAnchor,
  consolidation,
  artifacts,
  runtimeRole,
  auditChain,
  rbac,
  corpus,
  graphConnectivity,
  secretFiles,
  sessionHook,
  binaryFreshness,
];
