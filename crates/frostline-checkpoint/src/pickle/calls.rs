//! The calls in a pickle: torch's own are known by name and make descriptions of tensors; all others make objects.

use super::value::{Node, Pickle, PickleValue, StorageId, TensorSpec};
use crate::DType;

/// Modules of Python with which pickles attack the computer that loads them. No checkpoint calls them.
const HOSTILE: &[&str] = &[
    "os",
    "posix",
    "nt",
    "subprocess",
    "sys",
    "runpy",
    "importlib",
    "socket",
    "pty",
    "shutil",
    "webbrowser",
    "ctypes",
    "codeop",
    "marshal",
    "pickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "asyncio",
    "multiprocessing",
    "_posixsubprocess",
    "_thread",
    "pip",
    "urllib",
    "requests",
    "http.client",
    "ftplib",
    "smtplib",
    "timeit",
    "pdb",
    "bdb",
    "cProfile",
    "doctest",
    "fileinput",
    "linecache",
    "zipimport",
    "pkgutil",
    "ensurepip",
    "distutils",
    "setuptools",
    "torch.hub",
    "torch.utils.cpp_extension",
    "torch._inductor",
    "numpy.f2py",
    "numpy.testing",
    "idlelib",
    "lib2to3",
];

/// Functions of `builtins` that read or run something.
const HOSTILE_BUILTINS: &[&str] = &[
    "eval",
    "exec",
    "compile",
    "__import__",
    "open",
    "input",
    "breakpoint",
    "globals",
    "locals",
    "vars",
    "help",
    "exit",
    "quit",
];

/// Makes what a call would return.
///
/// # Errors
/// If the function is one with which pickles attack a computer, or torch's own function has other arguments than torch writes.
pub(super) fn call_function(
    pickle: &Pickle<'_>,
    function: PickleValue,
    args: PickleValue,
) -> Result<Node, String> {
    let Some(name) = pickle.global_name(function) else {
        // A method of an object, or the result of another call.
        return Ok(make_object(function, args));
    };
    refuse_hostile(&name)?;
    let args_list = pickle.value_list(args).unwrap_or_default();
    let made = match name.as_str() {
        "collections.OrderedDict" | "collections.Counter" | "builtins.dict" | "__builtin__.dict" => {
            make_dict(pickle, args_list)
        }
        "torch.Size" | "builtins.list" | "builtins.tuple" | "builtins.set" | "builtins.frozenset"
        | "__builtin__.set" => {
            let items = args_list.first().and_then(|items| pickle.value_list(*items)).unwrap_or_default();
            Some(Node::List(items.to_vec()))
        }
        "torch._utils._rebuild_tensor" | "torch._utils._rebuild_tensor_v2" => {
            Some(Node::Tensor(make_tensor(pickle, args_list, None)?))
        }
        "torch._utils._rebuild_tensor_v3" => {
            let dtype = args_list
                .get(6)
                .and_then(|dtype| pickle.global_name(*dtype))
                .and_then(|name| dtype_by_name(&name));
            let dtype = dtype.ok_or("a tensor of an unknown type")?;
            Some(Node::Tensor(make_tensor(pickle, args_list, Some(dtype))?))
        }
        "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state" => {
            match args_list.first().and_then(|data| pickle.value_node(*data)) {
                Some(Node::Tensor(spec)) => {
                    Some(Node::Tensor(TensorSpec { is_parameter: true, ..spec.clone() }))
                }
                _ => None,
            }
        }
        // The arguments are another call and its arguments.
        "torch._tensor._rebuild_from_type_v2" => match args_list {
            [inner, _, args, ..] if is_rebuild(pickle, *inner) => {
                return call_function(pickle, *inner, *args);
            }
            _ => None,
        },
        _ => None,
    };
    Ok(made.unwrap_or_else(|| make_object(function, args)))
}

/// Returns whether this is a function that makes a tensor: it can be called from another call, and no deeper.
fn is_rebuild(pickle: &Pickle<'_>, function: PickleValue) -> bool {
    pickle.global_name(function).is_some_and(|name| name.starts_with("torch._utils._rebuild_"))
}

fn make_object(class: PickleValue, args: PickleValue) -> Node {
    Node::Object { class, args, state: PickleValue::None, items: Vec::new() }
}

/// Checks that a name is not one with which pickles attack a computer.
fn refuse_hostile(name: &str) -> Result<(), String> {
    let inside = |module: &&&str| name.strip_prefix(**module).is_some_and(|rest| rest.starts_with('.'));
    let builtin = name.strip_prefix("builtins.").or_else(|| name.strip_prefix("__builtin__."));
    if HOSTILE.iter().any(|module| inside(&module))
        || builtin.is_some_and(|name| HOSTILE_BUILTINS.contains(&name))
    {
        return Err(format!(
            "it calls `{name}`, which no checkpoint needs. Nothing was run; do not load this file in Python, and ask its source for \
             safetensors"
        ));
    }
    Ok(())
}

/// Makes a dictionary from the argument of its class: none, a dictionary, or a list of pairs.
fn make_dict(pickle: &Pickle<'_>, args: &[PickleValue]) -> Option<Node> {
    let Some(first) = args.first() else { return Some(Node::Dict(Vec::new())) };
    if let Some(pairs) = pickle.value_pairs(*first) {
        return Some(Node::Dict(pairs.to_vec()));
    }
    let pair = |item: &PickleValue| match pickle.value_list(*item) {
        Some([key, value]) => Some((*key, *value)),
        _ => None,
    };
    Some(Node::Dict(pickle.value_list(*first)?.iter().map(pair).collect::<Option<_>>()?))
}

/// Reads the arguments of a function that makes a tensor: storage, offset, sizes, strides.
fn make_tensor(
    pickle: &Pickle<'_>,
    args: &[PickleValue],
    dtype: Option<DType>,
) -> Result<TensorSpec, String> {
    let [PickleValue::Node(place), PickleValue::Int(offset), shape, strides, ..] = args else {
        return Err("a tensor without storage, offset, sizes and strides".into());
    };
    let Some(Node::Storage(storage)) = pickle.value_node(args[0]) else {
        return Err("a tensor without a storage".into());
    };
    let sizes = |value: PickleValue| pickle.value_sizes(value).filter(|sizes| sizes.len() <= MOST_DIMENSIONS);
    let (Some(shape), Some(strides)) = (sizes(*shape), sizes(*strides)) else {
        return Err("a tensor whose sizes are no list of numbers".into());
    };
    let offset = u64::try_from(*offset).map_err(|_| "a tensor that begins before its storage")?;
    let dtype = dtype.or(storage.dtype).ok_or("a tensor of an unknown type")?;
    Ok(TensorSpec { storage: *place, dtype, offset, shape, strides, is_parameter: false })
}

/// The most dimensions of a tensor, the limit of torch.
const MOST_DIMENSIONS: usize = 64;

/// Reads the id of a storage: `('storage', torch.FloatStorage, key, device, count)`.
pub(super) fn parse_storage(pickle: &Pickle<'_>, id: PickleValue) -> Result<StorageId, String> {
    let items = pickle.value_list(id).unwrap_or_default();
    let [kind, class, key, _, count, ..] = items else {
        return Err("an id that is not the id of a storage; the file was not written by `torch.save`".into());
    };
    let class = pickle.global_name(*class);
    let (Some("storage"), Some(class), PickleValue::Int(count)) = (pickle.value_text(*kind), class, count)
    else {
        return Err("an id that is not the id of a storage; the file was not written by `torch.save`".into());
    };
    let name = class.rsplit('.').next().unwrap_or_default();
    let dtype = match name {
        "UntypedStorage" => None,
        _ => Some(of_storage(name).ok_or_else(|| format!("`{class}` is not a type of storage of torch"))?),
    };
    let count = u64::try_from(*count).map_err(|_| "a storage of negative size")?;
    Ok(StorageId { key: *key, dtype, count })
}

/// Returns the type of the elements in a class of storages.
fn of_storage(name: &str) -> Option<DType> {
    Some(match name.strip_suffix("Storage")? {
        "Float" => DType::F32,
        "Double" => DType::F64,
        "Half" => DType::F16,
        "BFloat16" => DType::BF16,
        "Long" => DType::I64,
        "Int" => DType::I32,
        "Short" => DType::I16,
        "Char" => DType::I8,
        "Byte" => DType::U8,
        "Bool" => DType::Bool,
        "ComplexFloat" => DType::C64,
        "ComplexDouble" => DType::C128,
        "QUInt8" | "QUInt4x2" | "QUInt2x4" | "QInt8" => DType::Raw(1),
        "QInt32" => DType::Raw(4),
        _ => return None,
    })
}

/// Returns the type that torch calls by this name, such as `torch.float32`.
fn dtype_by_name(name: &str) -> Option<DType> {
    Some(match name.strip_prefix("torch.")? {
        "float32" | "float" => DType::F32,
        "float64" | "double" => DType::F64,
        "float16" | "half" => DType::F16,
        "bfloat16" => DType::BF16,
        "int64" | "long" => DType::I64,
        "int32" | "int" => DType::I32,
        "int16" | "short" => DType::I16,
        "int8" => DType::I8,
        "uint64" => DType::U64,
        "uint32" => DType::U32,
        "uint16" => DType::U16,
        "uint8" => DType::U8,
        "bool" => DType::Bool,
        "float8_e4m3fn" => DType::F8E4M3,
        "float8_e5m2" => DType::F8E5M2,
        "float8_e4m3fnuz" | "float8_e5m2fnuz" | "float8_e8m0fnu" => DType::Raw(1),
        "complex64" => DType::C64,
        "complex128" => DType::C128,
        _ => return None,
    })
}
