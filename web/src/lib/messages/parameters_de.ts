export const parametersDe: Record<string, string> = {};
