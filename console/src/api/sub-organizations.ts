import type { Api, RequestOf } from "./api.ts";

/** What tells a sub-organization in a list. */
export interface SubOrganizationName {
  id: string;
  name: string;
}

/** A page of those that pass the filter, with their names. */
export async function readSubOrganizations(
  api: Api,
  request: Omit<RequestOf<"list_suborgs">, "includeNames">,
): Promise<SubOrganizationName[]> {
  const answer = await api.query("list_suborgs", { ...request, includeNames: true });
  return answer.organizationIds.map((id, index) => ({ id, name: answer.organizationNames?.[index] ?? "" }));
}
