// Package optim updates parameters: optimisers, clipping and accumulation of gradients. In a training step it follows the backward pass. It
// must not compute gradients or learning rates: the rates come from optim/schedule or from the caller.
//
//	opt := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01})
//	rate := schedule.Cosine(1e-3, 0, 1000)
//	params := nn.Trained(model)
//	clip := &optim.Clip{Norm: 1}
//	for _, batch := range batches {
//		grads, err := model.Loss(batch).Backward()
//		if err != nil {
//			return err
//		}
//		if _, err := clip.Apply(params, grads); err != nil {
//			return err
//		}
//		if err := opt.Step(schedule.Next(rate), params, grads.GiveUp()); err != nil {
//			return err
//		}
//	}
//
// A step of all parameters is one program of the contract: it is compiled once for the shapes of the parameters and then queued with one
// message. It does not wait, and replaces values with Param.Set. The old values and the old state are donated to the program, and so are
// gradients that were given up: on backends that reuse donated memory, a step needs no second copy of parameters and state, and their
// addresses do not change.
//
// The state of an optimiser is kept by the names of parameters, in the type of the parameter; for 16-bit parameters state and arithmetic
// are f32. State returns it and Restore sets it: a run that resumes from it is bitwise equal to one that was not
// interrupted.
package optim
