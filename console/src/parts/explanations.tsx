import { List } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useAnswer } from "../api/hooks.ts";
import type { Explanation } from "../api/problem.ts";
import { Name } from "./texts.tsx";

/** By the IDs of policies; undefined until they are known. */
type PolicyNames = ReadonlyMap<string, string> | undefined;

/** The names of the organization's policies. */
export function usePolicyNames(): PolicyNames {
  const policies = useAnswer("list_policies", {}).data?.policies;
  return policies && new Map(policies.map(({ policyId, policyName }) => [policyId, policyName]));
}

/** The name of a policy, as a link to its page. */
export const PolicyLink = ({ policyId, names }: { policyId: string; names: PolicyNames }) => (
  <Link to="/policies/$policyId" params={{ policyId }}>
    <Name>{names ? (names.get(policyId) ?? "A deleted policy") : policyId}</Name>
  </Link>
);

/** Each policy with its explanation. */
export function Explanations({ of }: { of: readonly Explanation[] }) {
  const names = usePolicyNames();
  return (
    <List size="sm">
      {of.map(({ policyId, text }) => (
        <List.Item key={policyId} className="name">
          <PolicyLink policyId={policyId} names={names} />: {text}
        </List.Item>
      ))}
    </List>
  );
}
