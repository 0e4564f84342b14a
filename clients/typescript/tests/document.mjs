// What the server's OpenAPI document says, as TypeScript.

const name = (ref) => ref.replace('#/components/schemas/', '');

function type(schema) {
  if (schema.$ref) return name(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(type).join(' | ');
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(' | ');
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const items = `(${type(schema.items)})`;
      const { minItems, maxItems } = schema;
      return minItems === maxItems && minItems ? `[${Array(minItems).fill(items).join(', ')}]` : `${items}[]`;
    }
    case 'object': {
      const { properties = {}, required = [], additionalProperties } = schema;
      if (additionalProperties) return `{ [name: string]: ${type(additionalProperties)} }`;
      return `{ ${Object.entries(properties).map(([key, value]) => `${key}${required.includes(key) ? '' : '?'}: ${type(value)}`).join('; ')} }`;
    }
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    default:
      throw new Error(`a schema that is not understood: ${JSON.stringify(schema)}`);
  }
}

/** A module with a type for each of the document's schemas. */
export const typescript = ({ components }) =>
  Object.entries(components.schemas)
    .map(([name, schema]) => `export type ${name} = ${type(schema)};\n`)
    .join('');
